import { defined } from '../../shared/base/objects.ts';
import { FleetError } from '../../shared/base/errors.ts';
import {
  drainedBy,
  isEndedBy,
  loginOf,
  type Drain,
  type DrainEntry,
  type DrainOrder,
  type UndrainOrder,
  type UndrainOwnOrder,
} from '../../shared/contract/drain.ts';
import { checkNames } from './resolve.ts';

/**
 * The drains of a host as manager.json keeps them. Each person has at most one on the host and one on each slot; at most one belongs
 * to a run. The first three members are those of the release before: it reads each drained place in them, and keeps `more`.
 */
export interface DrainEntries {
  /** The first person's on the host. */
  readonly host?: DrainEntry;
  /** A run's. */
  readonly provision?: DrainEntry;
  /** The first person's on each slot. */
  readonly slots: Readonly<Record<string, DrainEntry>>;
  /** Those of other persons on the same places. */
  readonly more?: readonly Drain[];
}

/**
 * Returns the entries after an order. A run's entry replaces the one that an interrupted run left; a person's replaces the person's
 * own, and keeps its reason if the order has none. Pure.
 */
export function withDrain(
  entries: DrainEntries,
  { slots, reason, owner, run, command, until }: DrainOrder,
  known: readonly string[],
  now: number,
): DrainEntries {
  checkNames(slots, known);
  const entry = { reason, at: new Date(now).toISOString(), ...defined({ owner, run, command, until }) };
  if (run !== undefined && slots.length > 0) throw badRequest('a run drains the whole host', 'name no slots');
  const places: readonly Pick<Drain, 'slot'>[] = slots.length === 0 ? [{}] : slots.map((slot) => ({ slot }));
  let drains = drainsOf(entries);
  for (const place of places) {
    const isReplaced = (drain: Drain): boolean =>
      run === undefined
        ? drain.run === undefined && drain.slot === place.slot && isSamePerson(drain.owner, owner)
        : drain.run !== undefined;
    const before = run === undefined ? drains.find(isReplaced)?.reason : undefined;
    const added = { ...place, ...entry, reason: reason === '' ? (before ?? '') : reason };
    drains = [...drains.filter((drain) => !isReplaced(drain)), added];
  }
  return entriesOf(drains, entries);
}

function isSamePerson(one: string | undefined, other: string | undefined): boolean {
  return one === undefined || other === undefined ? one === other : loginOf(one) === loginOf(other);
}

/** Returns the entries without those that an order ends: a run's own, or all of a place. Pure. */
export function withoutDrain(
  entries: DrainEntries,
  { slots, run }: UndrainOrder,
  known: readonly string[],
): DrainEntries {
  checkNames(slots, known);
  if (run !== undefined) return without(entries, (drain) => drain.run === run);
  if (slots.length === 0) return { slots: {} };
  const whole = drainsOf(entries).find(({ slot }) => slot === undefined);
  if (whole !== undefined)
    throw badRequest(
      `the whole host is ${drainedBy(whole)}`,
      'undrain the host; to keep single slots drained, drain them by name',
    );
  return without(entries, ({ slot = '' }) => slots.includes(slot));
}

/** Returns the entries without those of one person, and of runs. `runs`: whether an order may end those of runs now. Pure. */
export function withoutOwnDrain(
  entries: DrainEntries,
  order: UndrainOwnOrder,
  known: readonly string[],
  runs: boolean,
): DrainEntries {
  checkNames(order.slots, known);
  return without(entries, (drain) => isEndedBy(order, drain) && (runs || drain.run === undefined));
}

/** Returns the entries without those whose time is over; the same if there is none. Pure. */
export function withoutEnded(entries: DrainEntries, now: number): DrainEntries {
  return without(entries, ({ until = '' }) => Date.parse(until) <= now);
}

function without(entries: DrainEntries, isEnded: (drain: Drain) => boolean): DrainEntries {
  const drains = drainsOf(entries);
  return drains.some(isEnded)
    ? entriesOf(
        drains.filter((drain) => !isEnded(drain)),
        entries,
      )
    : entries;
}

/** Returns all entries by priority: those of persons on the host, a run's, those on slots. Pure. */
export function drainsOf({ host, provision, slots, more = [] }: DrainEntries): readonly Drain[] {
  const onSlots = Object.entries(slots).map(([slot, entry]) => ({ slot, ...entry }));
  const isOnHost = ({ slot }: Drain): boolean => slot === undefined;
  return [
    ...(host === undefined ? [] : [host]),
    ...more.filter(isOnHost),
    ...(provision === undefined ? [] : [provision]),
    ...onSlots,
    ...more.filter((drain) => !isOnHost(drain)),
  ];
}

/** Returns the drains as entries; other members of the entries before stay. */
function entriesOf(drains: readonly Drain[], before: DrainEntries): DrainEntries {
  const { host: _host, provision: _provision, slots: _slots, more: _more, ...others } = before;
  const provision = drains.find(({ run }) => run !== undefined);
  const persons = drains.filter(({ run }) => run === undefined);
  const isFirst = (drain: Drain): boolean => persons.find(({ slot }) => slot === drain.slot) === drain;
  const first = persons.filter(isFirst);
  const more = persons.filter((drain) => !isFirst(drain));
  return {
    ...others,
    ...defined({ host: first.find(({ slot }) => slot === undefined), provision }),
    slots: Object.fromEntries(
      first.flatMap(({ slot, ...entry }) => (slot === undefined ? [] : [[slot, entry]])),
    ),
    ...(more.length === 0 ? {} : { more }),
  };
}

/** Returns the entry that drains a slot, the first by priority where there are several. Pure. */
export function drainOn(entries: DrainEntries, slot: string): Drain | undefined {
  return drainsOf(entries).find((drain) => drain.slot === undefined || drain.slot === slot);
}

/** Reads the entries of a state file of any version. An entry that cannot be read still drains. Pure. */
export function readDrains(found: unknown): DrainEntries {
  const { host, provision, slots, more, ...others } = Object(found) as Readonly<Record<string, unknown>>;
  const onSlots = Object.entries(Object(slots) as object).map(([slot, entry]) => [slot, readEntry(entry)]);
  const further = Array.isArray(more) ? more.flatMap((entry) => readEntry(entry) ?? []) : [];
  return {
    ...others,
    ...defined({ host: readEntry(host), provision: readEntry(provision) }),
    slots: Object.fromEntries(onSlots.filter(([, entry]) => entry !== undefined)) as DrainEntries['slots'],
    ...(further.length === 0 ? {} : { more: further.map(readSlot) }),
  };
}

function readSlot(entry: DrainEntry): Drain {
  const { slot, ...others } = entry as DrainEntry & { readonly slot?: unknown };
  return { ...others, ...defined({ slot: text(slot) }) };
}

function readEntry(found: unknown): DrainEntry | undefined {
  if (found === undefined || found === null) return undefined;
  const { reason, at, owner, run, command, until, ...others } = Object(found) as Readonly<
    Record<string, unknown>
  >;
  const known = { reason: text(reason) ?? '', at: text(at) ?? '' };
  return {
    ...others,
    ...known,
    ...defined({ owner: text(owner), run: text(run), command: text(command), until: text(until) }),
  };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
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
