import { FleetError } from '../../base/errors.ts';
import type { DrainMark, State } from '../state.ts';

/** The drain marks after an order; no slots named: the whole host. Pure. */
export function withDrain(
  drain: State['drain'],
  order: { readonly slots: readonly string[]; readonly reason: string },
  known: readonly string[],
  now: number,
): State['drain'] {
  checkNames(order.slots, known);
  const mark: DrainMark = { reason: order.reason, at: new Date(now).toISOString() };
  if (order.slots.length === 0) return { ...drain, host: mark };
  return {
    ...drain,
    slots: { ...drain.slots, ...Object.fromEntries(order.slots.map((slot) => [slot, mark])) },
  };
}

/** Takes marks back; no slots named: all of them, or with `hostOnly` just the host's own. */
export function withoutDrain(
  drain: State['drain'],
  { slots, hostOnly }: { readonly slots: readonly string[]; readonly hostOnly: boolean },
  known: readonly string[],
): State['drain'] {
  checkNames(slots, known);
  if (hostOnly) return { slots: drain.slots };
  if (slots.length === 0) return { slots: {} };
  if (drain.host !== undefined) {
    throw new FleetError({
      code: 'control.bad-request',
      what: 'the whole host is drained',
      next: 'undrain the host; slots that should stay out can be drained by name',
    });
  }
  const kept = Object.entries(drain.slots).filter(([slot]) => !slots.includes(slot));
  return { slots: Object.fromEntries(kept) };
}

/** Refuses a slot that is not there, with those that are. */
export function checkNames(slots: readonly string[], known: readonly string[]): void {
  const unknown = slots.find((slot) => !known.includes(slot));
  if (unknown === undefined) return;
  throw new FleetError({
    code: 'slot.unknown',
    what: `there is no slot ${unknown}`,
    expected: known.join(', '),
  });
}

/** In place of a slot's name: all of them, which are known only after the GPUs have been looked at. */
export const everySlot = '*';

/** The slots whose agent names may be taken over, with these added. Pure. */
export function withAdopted(before: readonly string[], added: readonly string[]): readonly string[] {
  return [...new Set([...before, ...added])];
}

/** "All of them" by their names, so that each mark ends when its name is taken over. Pure. */
export function namedAdopted(before: readonly string[], known: readonly string[]): readonly string[] {
  return before.includes(everySlot)
    ? withAdopted(
        before.filter((name) => name !== everySlot),
        known,
      )
    : before;
}
