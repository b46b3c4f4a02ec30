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
 * Returns these changes with the bundle instead of the network as their source: a first change uploads the packages to a
 * folder of the host. Refuses, by name, what the bundle lacks for this host. Pure.
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
    const what = `the bundle lacks packages for ${facts.os.pretty} on ${facts.arch}`;
    return [refusal(step, what, included.rebuild), ...all.filter((item) => userOf(item) === undefined)];
  }
  const upload = uploadPackages(first, set, facts);
  const changes = all.map((item) => fromFolder(item, desired));
  return upload === undefined ? changes : [upload, ...changes];
}

interface User {
  readonly step: StepName;
  readonly platform: Platform;
}

/** Returns the step and platform of a change that installs packages, or may. */
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

/** Uploads the set's packages, and last the marker file that says they are complete. Undefined: the host has them all. */
function uploadPackages({ step, platform }: User, set: PackageSet, facts: Facts): Change | undefined {
  const { offline } = platform.packages;
  const mark = textArtifact(`${sha256(set.index)}\n`);
  if (facts.files[offline.mark] === mark.sha256) return undefined;
  const { folder, tidy } = offline;
  const bytes = set.packages.reduce((sum, { artifact }) => sum + artifact.size, 0);
  return change(
    step,
    'packages',
    {
      title: `upload ${set.packages.length} packages from the bundle (${Math.ceil(bytes / 1e6)} MB)`,
      why:
        facts.files[offline.mark] === undefined
          ? 'the host uses no package repository'
          : 'the host has the packages of another bundle',
      disturbs: 'nothing',
      marker: facts.files[offline.mark] === undefined ? 'add' : 'change',
      details: [{ marker: 'add', text: `in ${folder}; files that the host already has are not sent again` }],
    },
    [
      ...set.packages.map(({ file, artifact }) => upload(artifact, `${folder}/pool/${file}`, 0o600)),
      upload(textArtifact(set.index), offline.index, 0o600),
      { kind: 'run', durable: false, timeoutS: 60, script: tidy, writes: [folder] },
      upload(mark, offline.mark, 0o600),
    ],
  );
}

/** Adds a refusal where the bundle lacks the Node runtime of the manager. */
function* withRuntime(
  found: readonly Found[],
  { arch }: Facts,
  { artifacts }: Desired,
  { rebuild }: Included,
): Generator<Found> {
  yield* found;
  const isUnsupported = found.some((item) => 'refused' in item && item.step === 'image');
  if (artifacts.runtime(arch, false) === undefined && !isUnsupported)
    yield refusal('manager', `the bundle lacks Node for ${arch}, which the manager runs on`, rebuild);
}
