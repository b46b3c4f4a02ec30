import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import { noteScript, recordLines, type PackageRecord, type PartName } from '../../packages/package-record.ts';
import { isOfPart, vendorOf } from './parts.ts';

/** What is noted of a part before its packages are changed. */
export interface PartRecord extends PackageRecord {
  readonly name: PartName;
  /** Of theirs those that nobody holds. */
  readonly loose: readonly string[];
}

/**
 * What the record of a host has of a part, or, where it has nothing yet, what can be known: packages that are there are
 * theirs, unless a source of ours is older than the record. Then an earlier release has brought them. Pure.
 */
export function partRecord(part: PartName, facts: Facts, platform: Platform): PartRecord {
  const covers = isOfPart(part, platform);
  const present = Object.keys({ ...facts.packages, ...facts.unfinished }).filter(covers);
  const held = (name: string) => facts.held.includes(name);
  const noted = recordOf(part, facts, platform);
  const earlier = noted === undefined && hasOurSource(part, facts, platform);
  const theirs = noted?.theirs ?? (earlier ? [] : present);
  return {
    name: part,
    part: [part],
    theirs,
    kept: noted?.kept ?? theirs.filter(held),
    brought: noted?.brought ?? (earlier ? present : []),
    held: noted?.held ?? [],
    loose: theirs.filter((name) => present.includes(name) && !held(name)),
  };
}

/** What the record has of one part; undefined: nothing, because we have done nothing to it, or an earlier release has. */
export function recordOf(
  part: PartName,
  { ours }: Facts,
  platform: Platform,
): Omit<PackageRecord, 'part'> | undefined {
  const record = ours.packages;
  if (record?.part.includes(part) !== true) return undefined;
  const covers = isOfPart(part, platform);
  return {
    theirs: record.theirs.filter(covers),
    kept: record.kept.filter(covers),
    brought: record.brought.filter(covers),
    held: record.held.filter(covers),
  };
}

/** A package source, its key, or what of the system's own archive we have added for the part. */
export function hasOurSource(part: PartName, { files }: Facts, { packages }: Platform): boolean {
  return packages.withdraw(vendorOf[part]).files.some((file) => files[file] !== undefined);
}

/** Shell text: notes of a part what is known, what comes now, and what is held. Names, or patterns of names. Pure. */
export function noting(
  { name: part, loose, ...record }: PartRecord,
  platform: Platform,
  {
    brings = [],
    holds = [],
  }: { readonly brings?: readonly string[]; readonly holds?: readonly string[] } = {},
): string {
  const holding = holds.map(glob);
  // One of another architecture has it behind its name: `libcuda1:i386`.
  const coming = brings.map((name) => name.replace(/:.*/, '')).filter(isOfPart(part, platform));
  return noteScript(
    recordLines({
      ...record,
      brought: [...record.brought, ...coming.filter((name) => !record.theirs.includes(name))].toSorted(),
      held: [
        ...record.held,
        ...loose.filter((name) => !record.kept.includes(name) && holding.some((fits) => fits(name))),
      ].toSorted(),
    }),
  );
}
