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
  /** Its installed packages, including partly installed ones. */
  readonly installed: readonly string[];
  /** azp-fleet's files that the part needs while it is installed. */
  readonly files: readonly string[];
}

const titles: Readonly<Record<PartName, string>> = {
  toolkit: 'NVIDIA Container Toolkit',
  docker: 'Docker Engine',
  driver: 'NVIDIA driver',
};

/** Returns the parts in the order of removal. */
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

/** Ownership of a part's installed packages. */
interface Ownership {
  /** Installed by azp-fleet. */
  readonly ours: readonly string[];
  /** Held by azp-fleet, and still held. */
  readonly held: readonly string[];
}

/**
 * Returns which packages azp-fleet installed, by the host's record. Packages that existed before are the owner's, even if
 * azp-fleet upgraded them. Without a record (of an earlier release) azp-fleet's repository decides. Pure.
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

/** The package record after the removal of parts. */
export interface RecordThen {
  /** Its lines; none: the record is deleted. */
  readonly lines: readonly string[];
  /** Whether it differs from the present record. */
  readonly differs: boolean;
}

/**
 * Returns the record of parts that stay: it is kept while azp-fleet's packages or repository of a part are left. Without the
 * record that repository would make all packages count as azp-fleet's. Pure.
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
