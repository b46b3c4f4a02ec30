import { stableJson } from '../../../shared/base/digest.ts';
import { FleetError, usageError } from '../../../shared/base/errors.ts';
import type { AgentRelease } from '../../../shared/contract/agent-release.ts';
import type { ImagePlan } from '../../../shared/image/plan.ts';
import type { Facts, GatheredFacts } from '../../facts/facts.ts';
import { parseFacts, probes } from '../../facts/parse.ts';
import { type FactsWith, reading, unreadProblem } from '../../facts/unread.ts';
import { type Platform, platformOf, systemOf, unsupported } from '../../packages/distribution.ts';
import { type Distribution, systems } from '../../packages/systems.ts';
import type { Transaction } from '../../packages/transaction.ts';
import type { Machine } from '../../packages/vendors.ts';
import { allSteps } from '../../steps/all.ts';
import { agentArch, managerConfig } from '../../steps/manager/config.ts';
import { withNewerVersions } from '../../steps/newer.ts';
import { isPackageChange } from '../../steps/packages/refine.ts';
import type { Desired } from '../../steps/step.ts';
import { agentImages } from '../../steps/bundle/images.ts';
import { agentOnHost } from '../../steps/bundle/agent.ts';

/** One host, or one that represents hosts that cannot be read. */
export interface Target {
  readonly name: string;
  readonly needing: Needing;
  /** Its facts, where it was read: a newer driver that stays needs another base image. */
  readonly now?: BundleFacts;
  readonly desired: Desired;
}

/** Everything that a bundle needs, each once. */
export interface Needs {
  readonly systems: readonly SystemNeeds[];
  readonly images: readonly { readonly plan: ImagePlan; readonly machine: Machine }[];
  readonly machines: readonly Machine[];
  /** For slots in host mode. */
  readonly agents: readonly { readonly release: AgentRelease; readonly machine: Machine }[];
}

export interface SystemNeeds {
  readonly platform: Platform;
  readonly transactions: readonly Transaction[];
  /** Names of the hosts. */
  readonly hosts: readonly string[];
}

/** A host that a bundle cannot serve. */
export interface Unprovided {
  readonly host: string;
  readonly what: string;
  readonly next: string;
}

/** Returns the needs of all hosts. `readFolder` reads the archive of a team's folder when its image is built. */
export function needsOf(
  targets: readonly Target[],
  context: Buffer,
  readFolder: (sha256: string) => Promise<Buffer>,
): { readonly needs: Needs; readonly unprovided: readonly Unprovided[] } {
  const unprovided = targets.flatMap((target) => obstacle(target) ?? []);
  const sound = targets.filter(({ name }) => unprovided.every(({ host }) => host !== name));
  // As in a plan: without a branch in the inventory, a distribution's packages have their own branch.
  const facts = new Map(
    sound.map((target) => {
      const bare = bareHost(target.needing);
      return [{ ...target, desired: withNewerVersions(bare, target.desired) }, bare];
    }),
  );
  const agents = [...facts].flatMap(([{ desired }, each]) => agentsOf(each, desired));
  const images = [...facts].flatMap(([{ desired, now }, bare]) =>
    [bare, ...(now === undefined ? [] : [now])].flatMap((each) =>
      imagesOf(each, withNewerVersions(each, desired), context, readFolder),
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

/** Returns the transactions of a bare host's plan. `provision` reports what steps refuse. */
function transactionsOf(facts: Facts, desired: Desired): readonly Transaction[] {
  return allSteps
    .flatMap((step) => [...step.plan(facts, desired)])
    .filter(isPackageChange)
    .map(({ pending }) => pending.transaction);
}

function imagesOf(
  facts: BundleFacts,
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
    what: `the digest of the agent ${image.agentVersion} is unknown, and a bundle checks it`,
    next: `put the sha256 of ${image.agentUrl} into agent.sha256 of the inventory`,
  };
}

/** The facts of a host that decide what it needs, whatever is installed. */
export type Needing = Pick<
  Facts,
  'os' | 'arch' | 'platform' | 'systemd' | 'gpus' | 'ignoredGpus' | 'nvswitches' | 'nvlink5' | 'kernels'
> & {
  /** Packages of the kernels. */
  readonly images: readonly string[];
  /** The compiler that built the kernel, where it is known. */
  readonly lacksToBuild: readonly string[];
};

/**
 * Returns the facts of a host that decide what its bundle contains.
 * @throws FleetError `facts.incomplete` where they could not be read: parts of the bundle would be missing.
 */
export function readForBundle(host: string, facts: GatheredFacts): BundleFacts {
  const read = reading(facts, ...decisive);
  if (read.kind === 'unknown') throw new FleetError(unreadProblem(host, read.unread));
  return read.value;
}

const decisive = [
  'gpus',
  'ignoredGpus',
  'nvswitches',
  'nvlink5',
  'kernels',
  'lacksToBuild',
  'packages',
  'driver',
  'toolkit',
] as const;

type BundleFacts = FactsWith<(typeof decisive)[number]>;

/** Returns the needs of a host that was read. Its headers count: archives may have dropped them. */
export function needingOf(facts: BundleFacts): Needing {
  const { os, arch, platform, systemd, gpus, ignoredGpus, nvswitches, nvlink5, kernels } = facts;
  const { offline } = platformOf(facts)?.packages ?? {};
  return {
    os,
    arch,
    platform,
    systemd,
    gpus,
    ignoredGpus,
    nvswitches,
    nvlink5,
    kernels: kernels.map((kernel) => ({ ...kernel, driver: false })),
    images: Object.keys(facts.packages).filter((name) => offline?.isKernel(name) === true),
    lacksToBuild: facts.lacksToBuild,
  };
}

/** Returns the needs of a host that cannot be read: one GPU for open modules (an H100), no NVSwitch. */
export function needingUnseen(
  { id, versionId }: Pick<Distribution, 'id' | 'versionId'>,
  machine: Machine,
  kernels: readonly string[],
  images: readonly string[],
): Needing {
  return {
    os: { id, idLike: [], versionId, codename: '', pretty: `${id} ${versionId}` },
    arch: machine,
    platform: undefined,
    systemd: undefined,
    gpus: [{ address: '0000:01:00.0', deviceId: '2330', boundTo: undefined }],
    ignoredGpus: [],
    nvswitches: 0,
    nvlink5: { switches: 0, umad: false },
    kernels: kernels.map((release) => ({ release, headers: false, driver: false })),
    images,
    lacksToBuild: [],
  };
}

/** Returns the facts of such a host before its first provision: a bundle also serves a host that is installed again. */
export function bareHost({ images, lacksToBuild, ...needing }: Needing): Facts {
  const empty = parseFacts(new Map(probes.map(({ name }) => [name, nothing])));
  return {
    ...empty,
    ...needing,
    login: { user: 'root', uid: 0 },
    driver: { ...empty.driver, secureBoot: false },
    cpus: 1,
    packages: Object.fromEntries(images.map((name) => [name, '0'])),
    lacksToBuild: [...new Set(['gcc', 'make', ...lacksToBuild])],
  };
}

/** The answer of a probe that finds nothing. */
const nothing = { code: 0, stdout: '\nend\n', stderr: '', durationMs: 0, timedOut: false };

export interface NamedSystem {
  /** `versionId` as typed: `9.5`. */
  readonly system: Distribution;
  readonly machine: Machine;
}

const machines: readonly Machine[] = ['x86_64', 'aarch64'];

/** Parses `debian-12/x86_64`, `ubuntu-24.04`, `rocky-9.5` (a release of 9). The default machine is x86_64. */
export function namedSystem(text: string): NamedSystem {
  const [name = '', machine = 'x86_64', ...more] = text.split('/');
  const [, id = '', versionId = ''] = /^([a-z]+)-(\d+(?:\.\d+){0,2})$/.exec(name) ?? [];
  const system = systemOf({ id, versionId });
  const known = machines.find((each) => each === machine);
  if (system !== undefined && known !== undefined && more.length === 0)
    return { system: { ...system, versionId }, machine: known };
  const names = systems.map((each) => `${each.id}-${each.versionId}`);
  throw usageError({
    code: 'usage.option',
    what: '--for names a system that is not supported',
    expected: `one of ${names.join(', ')}, with /${machines.join(' or /')}`,
    seen: text,
  });
}
