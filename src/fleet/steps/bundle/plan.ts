import type { Facts } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import { type PackageSet, offlinePlatform, type Included } from './content.ts';
import {
  type Change,
  change,
  type Refusal,
  refusal,
  type StepName,
  textArtifact,
  upload,
} from '../change.ts';
import { packageChange } from '../packages/change.ts';
import { isPackageChange } from '../packages/refine.ts';
import { holdChange, type HoldChange } from '../packages/repositories.ts';
import type { Desired, Planned } from '../step.ts';
import { sha256 } from '../../../shared/base/digest.ts';

type Found = Planned | Refusal;

/**
 * These changes, with everything that would come from the network taken from the included where there are such: packages lie
 * in a folder of the host before the first of them is installed. What they lack for this host is refused by its name. Pure.
 */
export function useIncluded(found: readonly Found[], facts: Facts, desired: Desired): Found[] {
  const { included } = desired;
  if (included === undefined) return [...found];
  const all = [...withRuntime(found, facts, desired, included)];
  const first = all.flatMap((item) => userOf(item) ?? []).at(0);
  if (first === undefined) return all;
  const { platform, step } = first;
  const set = included.packages(platform);
  if (set === undefined) {
    const what = `the bundle has no packages for ${facts.os.pretty} on ${facts.arch}`;
    return [refusal(step, what, included.again), ...all.filter((item) => userOf(item) === undefined)];
  }
  const bring = bringPackages(first, set, facts);
  const changes = all.map((item) => fromFolder(item, desired));
  return bring === undefined ? changes : [bring, ...changes];
}

interface User {
  readonly step: StepName;
  readonly platform: Platform;
}

/** What takes packages, or may. */
function userOf(item: Found): User | undefined {
  if (isPackageChange(item)) return item.pending;
  return isHold(item) && item.holding.platform.packages.offline.bringsToHold ? item.holding : undefined;
}

function fromFolder(item: Found, desired: Desired): Found {
  if (isPackageChange(item)) return packageChange(withFolder(item.pending, desired));
  return isHold(item) ? holdChange(withFolder(item.holding, desired)) : item;
}

function withFolder<T extends User>(user: T, desired: Desired): T {
  return { ...user, platform: offlinePlatform(user.platform, desired) };
}

function isHold(item: Found): item is HoldChange {
  return 'holding' in item;
}

/** Those that the host has not, each by its digest; the mark comes last. Undefined: all are there. */
function bringPackages({ step, platform }: User, set: PackageSet, facts: Facts): Change | undefined {
  const { offline } = platform.packages;
  const mark = textArtifact(`${sha256(set.index)}\n`);
  if (facts.files[offline.mark] === mark.sha256) return undefined;
  const { folder, tidy } = offline;
  const bytes = set.packages.reduce((sum, { artifact }) => sum + artifact.size, 0);
  return change(
    step,
    'packages',
    {
      title: `bring ${set.packages.length} packages of the bundle (${Math.ceil(bytes / 1e6)} MB)`,
      why:
        facts.files[offline.mark] === undefined
          ? 'the host has no package repository'
          : 'the host has packages of another bundle',
      disturbs: 'nothing',
      marker: facts.files[offline.mark] === undefined ? 'add' : 'change',
      details: [{ marker: 'add', text: `in ${folder}; files that are already there are not sent again` }],
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
  { again }: Included,
): Generator<Found> {
  yield* found;
  const known = found.some((item) => 'refused' in item && item.step === 'image');
  if (artifacts.runtime(arch) === undefined && !known)
    yield refusal('manager', `the bundle has no Node for ${arch}, which the manager runs on`, again);
}
