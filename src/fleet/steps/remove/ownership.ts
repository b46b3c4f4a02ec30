import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import { type PartName, partNames, recordLines } from '../../packages/package-record.ts';
import { driverPackages, isOfPart } from '../packages/parts.ts';
import { hasOurSource, recordOf } from '../packages/recorded.ts';

export interface Part {
  readonly name: PartName;
  readonly title: string;
  /** Of its packages those that are there, be it in part. */
  readonly installed: readonly string[];
  /** Files of ours that it needs as long as it is there. */
  readonly files: readonly string[];
}

const titles: Readonly<Record<PartName, string>> = {
  toolkit: 'NVIDIA Container Toolkit',
  docker: 'Docker Engine',
  driver: 'NVIDIA driver',
};

/** In the order in which they go. */
export function partsOf(facts: Facts, platform: Platform): readonly Part[] {
  const present = Object.keys({ ...facts.packages, ...facts.unfinished });
  const kept = [managedFiles.nouveauBlacklist, managedFiles.persistence];
  return partNames.map((name) => ({
    name,
    title: titles[name],
    installed:
      name === 'driver'
        ? driverPackages(facts, platform)
        : present.filter(isOfPart(name, platform)).toSorted(),
    files: name === 'driver' ? kept.filter((path) => facts.files[path] !== undefined) : [],
  }));
}

/** Of the packages of a part that are there. */
interface Ownership {
  /** We have brought them. */
  readonly ours: readonly string[];
  /** They are held, and we have held them. */
  readonly held: readonly string[];
}

/**
 * By what is noted on the host. What was there when we came is its owner's, also where we have upgraded it. Where nothing is
 * noted, an earlier release may have been there: then a source of ours stands for its packages. Pure.
 */
export function ownershipOf({ name, installed }: Part, facts: Facts, platform: Platform): Ownership {
  const record = recordOf(name, facts, platform);
  const brought = record?.brought.map(glob);
  const ours =
    record === undefined
      ? installed.filter(() => hasOurSource(name, facts, platform))
      : installed.filter(
          (each) => !record.theirs.includes(each) && brought?.some((covers) => covers(each)) === true,
        );
  const mayHold = new Set([...ours, ...(record?.held ?? [])]);
  return { ours, held: installed.filter((each) => mayHold.has(each) && facts.held.includes(each)) };
}

/** What the record is once these parts have gone. */
export interface RecordThen {
  /** Its lines; none: it goes. */
  readonly lines: readonly string[];
  /** It is another one than now. */
  readonly differs: boolean;
}

/**
 * Of a part the record stays as long as something of it does that its notes decide on: packages of ours, or a source of ours,
 * which would stand for all packages without them. Pure.
 */
export function recordThen(
  facts: Facts,
  platform: Platform | undefined,
  goes: ReadonlySet<PartName>,
): RecordThen {
  const record = facts.ours.packages;
  if (record === undefined) return { lines: [], differs: false };
  if (platform === undefined) return { lines: recordLines(record), differs: false };
  const staying = partsOf(facts, platform).filter((part) => {
    if (!record.part.includes(part.name) || part.installed.length === 0) return false;
    const { ours } = ownershipOf(part, facts, platform);
    const left = goes.has(part.name) ? part.installed.filter((each) => !ours.includes(each)) : part.installed;
    const isOurs = !goes.has(part.name) && ours.length > 0;
    return isOurs || (left.length > 0 && hasOurSource(part.name, facts, platform));
  });
  const lines = staying.flatMap(({ name }) =>
    recordLines({
      part: [name],
      theirs: [],
      kept: [],
      brought: [],
      held: [],
      ...recordOf(name, facts, platform),
    }),
  );
  return { lines, differs: staying.length < record.part.length };
}
