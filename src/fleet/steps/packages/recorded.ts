import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import { noteScript, recordLines, type PackageRecord, type PartName } from '../../packages/package-record.ts';
import { isOfPart, vendorOf } from './parts.ts';

/** The record of a part before its packages are changed. */
export interface PartRecord extends PackageRecord {
  readonly name: PartName;
  /** Packages of `theirs` that are not held. */
  readonly loose: readonly string[];
}

/**
 * Returns a host's record of a part. Without a record installed packages count as the owner's, unless azp-fleet's repository is
 * configured: then an earlier release installed them. Pure.
 */
export function partRecord(part: PartName, facts: Facts, platform: Platform): PartRecord {
  const covers = isOfPart(part, platform);
  const present = Object.keys({ ...facts.packages, ...facts.unfinished }).filter(covers);
  const held = (name: string) => facts.held.includes(name);
  const record = recordOf(part, facts, platform);
  const earlier = record === undefined && hasOurSource(part, facts, platform);
  const theirs = record?.theirs ?? (earlier ? [] : present);
  return {
    name: part,
    part: [part],
    theirs,
    kept: record?.kept ?? theirs.filter(held),
    brought: record?.brought ?? (earlier ? present : []),
    held: record?.held ?? [],
    loose: theirs.filter((name) => present.includes(name) && !held(name)),
  };
}

/** Returns the record of one part; undefined: none, because azp-fleet never changed it, or an earlier release did. */
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

/** Returns whether azp-fleet added a repository for the part: a source file, its key, or a section of the distribution's archive. */
export function hasOurSource(part: PartName, { files }: Facts, { packages }: Platform): boolean {
  return packages.withdraw(vendorOf[part]).files.some((file) => files[file] !== undefined);
}

/** Returns shell text that writes the record of a part, with the packages that a change brings and holds (names or patterns). Pure. */
export function recordingScript(
  { name: part, loose, ...record }: PartRecord,
  platform: Platform,
  {
    brings = [],
    holds = [],
  }: { readonly brings?: readonly string[]; readonly holds?: readonly string[] } = {},
): string {
  const holding = holds.map(glob);
  // Names of another architecture's packages end with it: `libcuda1:i386`.
  const added = brings.map((name) => name.replace(/:.*/, '')).filter(isOfPart(part, platform));
  return noteScript(
    recordLines({
      ...record,
      brought: [...record.brought, ...added.filter((name) => !record.theirs.includes(name))].toSorted(),
      held: [
        ...record.held,
        ...loose.filter((name) => !record.kept.includes(name) && holding.some((fits) => fits(name))),
      ].toSorted(),
    }),
  );
}
