import type { Facts } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Change } from '../change.ts';
import { change, refusal } from '../changes.ts';
import { packageChange, type PackageChange } from '../packages/package-change.ts';
import { isPackageChange } from '../packages/refine.ts';
import { textArtifact, upload } from '../manager/parts.ts';
import { suppliedPlatform } from '../offline/platform.ts';
import type { Desired, Planned, Refusal } from '../step.ts';
import type { PackageSet, Supplies } from '../offline/supplies.ts';
import { sha256 } from '../../base/digest.ts';

type Found = Planned | Refusal;

/**
 * These changes, with everything that would come from the network taken from the supplies where there are such: packages lie
 * in a folder of the host before the first of them is installed. What they lack for this host is refused by its name. Pure.
 */
export function supplied(found: readonly Found[], facts: Facts, desired: Desired): Found[] {
  const { supplies } = desired;
  if (supplies === undefined) return [...found];
  const all = [...withRuntime(found, facts, desired, supplies)];
  const first = all.find(isPackageChange);
  if (first === undefined) return all;
  const { platform, step } = first.pending;
  const set = supplies.packages(platform);
  const missing =
    platform.packages.offline === undefined
      ? refusal(step, ...noOffline(facts, platform))
      : set === undefined
        ? refusal(step, `the bundle has no packages for ${facts.os.pretty} on ${facts.arch}`, supplies.again)
        : undefined;
  if (set === undefined || missing !== undefined) {
    const rest = all.filter((item) => !isPackageChange(item));
    return missing === undefined ? rest : [missing, ...rest];
  }
  const bring = bringPackages(first, set, facts);
  const changes = all.map((item) =>
    isPackageChange(item)
      ? packageChange({ ...item.pending, platform: suppliedPlatform(item.pending.platform, desired) })
      : item,
  );
  return bring === undefined ? changes : [bring, ...changes];
}

function noOffline({ os }: Facts, { packages }: Platform): [what: string, next: string] {
  return [
    `${os.pretty} takes its packages by ${packages.name}, which no bundle brings`,
    'give it mirrors within the network (mirrors: in the inventory) and leave --bundle out, or leave this host out with --limit',
  ];
}

/** Those that the host has not, each by its digest; the mark comes last. Undefined: all are there. */
function bringPackages(
  { pending: { step, platform } }: PackageChange,
  set: PackageSet,
  facts: Facts,
): Change | undefined {
  const { offline } = platform.packages;
  const mark = textArtifact(`${sha256(set.index)}\n`);
  if (offline === undefined || facts.files[offline.mark] === mark.sha256) return undefined;
  const { folder, tidy } = offline;
  const bytes = set.packages.reduce((sum, { artifact }) => sum + artifact.size, 0);
  return change(
    step,
    'packages',
    {
      title: `bring ${set.packages.length} packages of the bundle (${Math.ceil(bytes / 1e6)} MB)`,
      why:
        facts.files[offline.mark] === undefined
          ? 'the host reaches no package source'
          : 'the host has those of another bundle',
      disturbs: 'nothing',
      marker: facts.files[offline.mark] === undefined ? 'add' : 'change',
      details: [{ marker: 'add', text: `in ${folder}; those that are there already are not sent again` }],
    },
    [
      ...set.packages.map(({ file, artifact }) => upload(artifact, `${folder}/pool/${file}`, 0o600)),
      upload(textArtifact(set.index), offline.index, 0o600),
      { kind: 'run', durable: false, timeoutS: 60, script: tidy, writes: [folder] },
      upload(mark, offline.mark, 0o600),
    ],
  );
}

/** Without the Node that it runs on, no manager can be planned. */
function* withRuntime(
  found: readonly Found[],
  { arch }: Facts,
  { artifacts }: Desired,
  { again }: Supplies,
): Generator<Found> {
  yield* found;
  const known = found.some((item) => 'refused' in item && item.step === 'image');
  if (artifacts.runtime(arch) === undefined && !known)
    yield refusal('manager', `the bundle has no Node for ${arch}, which the manager runs on`, again);
}
