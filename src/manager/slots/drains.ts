import { defined } from '../../shared/base/objects.ts';
import { FleetError } from '../../shared/base/errors.ts';
import {
  drainedBy,
  type Drain,
  type DrainEntry,
  type DrainOrder,
  type UndrainOrder,
} from '../../shared/contract/drain.ts';
import { checkNames } from './resolve.ts';

/**
 * The drains of a host as manager.json keeps them. An entry of a person and one of a run of `provision` can be on a host
 * at the same time.
 */
export interface DrainEntries {
  /** The person's entry. */
  readonly host?: DrainEntry;
  readonly provision?: DrainEntry;
  readonly slots: Readonly<Record<string, DrainEntry>>;
}

/**
 * Returns the entries after an order. A run's entry replaces the one that an interrupted run left; a person's entry
 * without a reason keeps the earlier reason. Pure.
 */
export function withDrain(
  entries: DrainEntries,
  { slots, reason, owner, run, command }: DrainOrder,
  known: readonly string[],
  now: number,
): DrainEntries {
  checkNames(slots, known);
  const entry: DrainEntry = { reason, at: new Date(now).toISOString(), ...defined({ owner, run, command }) };
  const after = (before: DrainEntry | undefined): DrainEntry => ({
    ...entry,
    reason: reason === '' ? (before?.reason ?? '') : reason,
  });
  if (slots.length === 0)
    return run === undefined ? { ...entries, host: after(entries.host) } : { ...entries, provision: entry };
  if (run !== undefined) throw badRequest('a run drains the whole host', 'name no slots');
  const drained = slots.map((slot) => [slot, after(entries.slots[slot])]);
  return { ...entries, slots: { ...entries.slots, ...Object.fromEntries(drained) } };
}

/** Returns the entries without those that an order ends. Pure. */
export function withoutDrain(
  entries: DrainEntries,
  { slots, run }: UndrainOrder,
  known: readonly string[],
): DrainEntries {
  checkNames(slots, known);
  if (run !== undefined) {
    const { provision, ...others } = entries;
    return provision?.run === run ? others : entries;
  }
  if (slots.length === 0) return { slots: {} };
  const [whole] = onWholeHost(entries);
  if (whole !== undefined)
    throw badRequest(
      `the whole host is ${drainedBy(whole)}`,
      'undrain the host; to keep single slots drained, drain them by name',
    );
  const kept = Object.entries(entries.slots).filter(([slot]) => !slots.includes(slot));
  return { slots: Object.fromEntries(kept) };
}

/** Returns all entries by priority: a person's on the host, provision's, those on slots. Pure. */
export function drainsOf(entries: DrainEntries): readonly Drain[] {
  const onSlots = Object.entries(entries.slots).map(([slot, entry]) => ({ slot, ...entry }));
  return [...onWholeHost(entries), ...onSlots];
}

/** Returns the entry that drains a slot, the first by priority where there are several. Pure. */
export function drainOn(entries: DrainEntries, slot: string): Drain | undefined {
  return drainsOf(entries).find((drain) => drain.slot === undefined || drain.slot === slot);
}

/** Reads the entries of a state file of any version. An entry that cannot be read still drains. Pure. */
export function readDrains(found: unknown): DrainEntries {
  const { host, provision, slots, ...others } = Object(found) as Readonly<Record<string, unknown>>;
  const onSlots = Object.entries(Object(slots) as object).map(([slot, entry]) => [slot, readEntry(entry)]);
  return {
    ...others,
    ...defined({ host: readEntry(host), provision: readEntry(provision) }),
    slots: Object.fromEntries(onSlots.filter(([, entry]) => entry !== undefined)) as DrainEntries['slots'],
  };
}

function readEntry(found: unknown): DrainEntry | undefined {
  if (found === undefined || found === null) return undefined;
  const { reason, at, owner, run, command, ...others } = Object(found) as Readonly<Record<string, unknown>>;
  const known = { reason: text(reason) ?? '', at: text(at) ?? '' };
  return {
    ...others,
    ...known,
    ...defined({ owner: text(owner), run: text(run), command: text(command) }),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function onWholeHost({ host, provision }: DrainEntries): readonly DrainEntry[] {
  return [host, provision].filter((entry) => entry !== undefined);
}

function badRequest(what: string, next: string): FleetError {
  return new FleetError({ code: 'control.bad-request', what, next });
}

/** Means all slots of the host until the first check of the GPUs, when their names are known. */
export const everySlot = '*';

/** Adds slots whose agent names this host may take over from another owner. Pure. */
export function withAdopted(before: readonly string[], added: readonly string[]): readonly string[] {
  return [...new Set([...before, ...added])];
}

/** Replaces `everySlot` by the slots' names, so that each permission ends when its name is taken over. Pure. */
export function namedAdopted(before: readonly string[], known: readonly string[]): readonly string[] {
  return before.includes(everySlot)
    ? withAdopted(
        before.filter((name) => name !== everySlot),
        known,
      )
    : before;
}
