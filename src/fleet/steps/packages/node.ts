import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import { type PartName, partNames } from '../../packages/package-record.ts';
import { type Refusal, refusal } from '../change.ts';
import type { Planned } from '../step.ts';
import { packageChange, type PackageChange } from './change.ts';
import { isOfPart } from './parts.ts';
import { hasOurSource, recordOf } from './recorded.ts';
import { isPackageChange } from './refine.ts';

type Found = Planned | Refusal;

/**
 * Leaves packages alone that the owner of an orchestrator's node holds or pins, and refuses changes that need another version of
 * one. Pure.
 */
export function withoutOwnersPackages(found: readonly Found[], facts: Facts): Found[] {
  return found.map((item) => (isPackageChange(item) ? withoutOwners(item, facts) : item));
}

function withoutOwners(change: PackageChange, facts: Facts): Found {
  const { transaction, platform, subject, step } = change.pending;
  const part = partNames.find((name) => name === step);
  const [orchestrator] = facts.orchestrators;
  if (part === undefined || orchestrator === undefined) return change;
  const isOwners = ownersChoice(part, facts, platform);
  const { packages, remove, siblings = [] } = transaction;
  const present = Object.keys({ ...facts.packages, ...facts.unfinished });
  const held = siblings.length === 0 ? [] : present.filter(isOfPart(part, platform)).filter(isOwners);
  const versioned = packages.flatMap(({ name, version }) => (version === undefined ? [] : [name]));
  const needed = [...new Set([...[...versioned, ...remove].filter(isOwners), ...held])].toSorted();
  if (needed.length > 0)
    return refusal(
      part,
      `${subject.what} needs another version of ${needed.join(', ')}, which the owner of this ${orchestrator.name} node holds or pins`,
      `agree on the version with the node's owner, who releases the hold or the pin, or set ${part}: none for this host`,
    );
  const own = packages.filter(({ name }) => !isOwners(name));
  return own.length === packages.length
    ? change
    : packageChange({ ...change.pending, transaction: { ...transaction, packages: own } });
}

/** Returns whether the owner of the host chose a package's version: azp-fleet's record does not say that it holds the package. */
function ownersChoice(part: PartName, facts: Facts, platform: Platform): (name: string) => boolean {
  const record = recordOf(part, facts, platform);
  const brought = record?.brought.map(glob);
  const pinned = facts.pinned.map(glob);
  const isOurs = (name: string): boolean =>
    record === undefined
      ? hasOurSource(part, facts, platform)
      : record.held.includes(name) ||
        (!record.theirs.includes(name) && brought?.some((covers) => covers(name)) === true);
  return (name) => pinned.some((covers) => covers(name)) || (facts.held.includes(name) && !isOurs(name));
}
