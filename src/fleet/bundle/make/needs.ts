import { stableJson } from '../../../shared/base/digest.ts';
import type { AgentRelease } from '../../../shared/contract/agent-release.ts';
import { agentArch, managerConfig } from '../../steps/manager-config.ts';
import type { Facts } from '../../facts/facts.ts';
import type { ImagePlan } from '../../../shared/image/plan.ts';
import { platformOf, unsupported, type Platform } from '../../packages/distribution.ts';
import type { Machine } from '../../packages/vendors.ts';
import type { Transaction } from '../../packages/transaction.ts';
import { allSteps } from '../../steps/all.ts';
import { keptNewer } from '../../steps/newer.ts';
import { isPackageChange } from '../../steps/packages/refine.ts';
import type { Desired } from '../../steps/step.ts';
import { agentOnHost } from '../../steps/supplies/agent-on-host.ts';
import { agentImages } from '../../steps/supplies/agent-images.ts';
import { bareHost, type Needing } from './bare-host.ts';

/** One host, or what stands for several that cannot be read. */
export interface Target {
  readonly name: string;
  readonly needing: Needing;
  /** As it is now, where it was read: a newer driver that stays there wants another base of its image. */
  readonly now?: Facts;
  readonly desired: Desired;
}

/** All that a bundle has to hold, each once. */
export interface Needs {
  readonly systems: readonly SystemNeeds[];
  readonly images: readonly { readonly plan: ImagePlan; readonly machine: Machine }[];
  readonly machines: readonly Machine[];
  /** Of slots straight on the host. */
  readonly agents: readonly { readonly release: AgentRelease; readonly machine: Machine }[];
}

export interface SystemNeeds {
  readonly platform: Platform;
  readonly transactions: readonly Transaction[];
  /** Names of the hosts. */
  readonly hosts: readonly string[];
}

/** A host that no bundle can provide for. */
export interface Unprovided {
  readonly host: string;
  readonly what: string;
  readonly next: string;
}

/** Pure but for the archive of a team's folder, which `readFolder` reads when the image is built. */
export function needsOf(
  targets: readonly Target[],
  context: Buffer,
  readFolder: (sha256: string) => Promise<Buffer>,
): { readonly needs: Needs; readonly unprovided: readonly Unprovided[] } {
  const unprovided = targets.flatMap((target) => obstacle(target) ?? []);
  const sound = targets.filter(({ name }) => unprovided.every(({ host }) => host !== name));
  // As plans have it: where nobody asks for a branch, a distribution's own packages are of its own.
  const facts = new Map(
    sound.map((target) => {
      const bare = bareHost(target.needing);
      return [{ ...target, desired: keptNewer(bare, target.desired) }, bare];
    }),
  );
  const agents = [...facts].flatMap(([{ desired }, each]) => agentsOf(each, desired));
  const images = [...facts].flatMap(([{ desired, now }, bare]) =>
    [bare, ...(now === undefined ? [] : [now])].flatMap((each) =>
      imagesOf(each, keptNewer(each, desired), context, readFolder),
    ),
  );
  return {
    needs: {
      systems: systemsOf(facts),
      images: [
        ...new Map(images.map((image) => [`${image.machine} ${image.plan.reference}`, image])).values(),
      ],
      machines: [
        ...new Set([...facts.values()].flatMap((each) => platformOf(each)?.machine ?? [])),
      ].toSorted(),
      agents: [...new Map(agents.map((agent) => [agent.release.sha256, agent])).values()],
    },
    unprovided,
  };
}

function systemsOf(facts: ReadonlyMap<Target, Facts>): readonly SystemNeeds[] {
  const found = [...facts].flatMap(([target, each]) => {
    const platform = platformOf(each);
    return platform === undefined ? [] : [{ target, platform, facts: each }];
  });
  const bySystem = Map.groupBy(
    found,
    ({ platform: { id, versionId, machine } }) => `${id}-${versionId}/${machine}`,
  );
  return [...bySystem.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const all = group.flatMap(({ target, facts: each }) => transactionsOf(each, target.desired));
    return {
      platform: first.platform,
      transactions: [...new Map(all.map((each) => [stableJson(each), each])).values()],
      hosts: group.map(({ target }) => target.name),
    };
  });
}

/** What a bare host's plan would install. What steps refuse there, `provision` says. */
function transactionsOf(facts: Facts, desired: Desired): readonly Transaction[] {
  return allSteps
    .flatMap((step) => [...step.plan(facts, desired)])
    .filter(isPackageChange)
    .map(({ pending }) => pending.transaction);
}

function imagesOf(
  facts: Facts,
  desired: Desired,
  context: Buffer,
  readFolder: (sha256: string) => Promise<Buffer>,
): Needs['images'] {
  const arch = agentArch(facts.arch);
  const machine = platformOf(facts)?.machine;
  if (arch === undefined || machine === undefined) return [];
  return agentImages(facts, desired, arch, context, readFolder).map((plan) => ({ plan, machine }));
}

function agentsOf(facts: Facts, desired: Desired): Needs['agents'] {
  const machine = platformOf(facts)?.machine;
  const release = agentOnHost(facts, desired);
  return machine === undefined || release === undefined ? [] : [{ release, machine }];
}

function obstacle({ name, needing, desired }: Target): Unprovided | undefined {
  if (platformOf(needing) === undefined) return { host: name, ...unsupported(needing) };
  const arch = agentArch(needing.arch);
  if (arch === undefined) return undefined;
  const { image } = managerConfig(desired, arch);
  if (image.kind !== 'build' || image.agentSha256 !== '') return undefined;
  return {
    host: name,
    what: `nobody knows the digest of the agent ${image.agentVersion}, which a bundle holds it to`,
    next: `put the sha256 of ${image.agentUrl} into agent.sha256 of the inventory`,
  };
}
