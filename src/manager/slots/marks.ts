import { defined } from '../../shared/base/defined.ts';
import { FleetError } from '../../shared/base/errors.ts';
import {
  drainedBy,
  type Drain,
  type DrainMark,
  type DrainOrder,
  type UndrainOrder,
} from '../../shared/contract/drain.ts';
import { onHost, personal, type DrainMarks } from '../drain-marks.ts';
import { checkNames } from './resolve.ts';

/**
 * The marks after an order. A run's mark takes the place of one that an interrupted run left; a person's that says no
 * reason keeps the reason that was said before. Pure.
 */
export function withDrain(
  marks: DrainMarks,
  { slots, reason, owner, run }: DrainOrder,
  known: readonly string[],
  now: number,
): DrainMarks {
  checkNames(slots, known);
  const mark: DrainMark = { reason, at: new Date(now).toISOString(), ...defined({ owner, run }) };
  const after = (before: DrainMark | undefined): DrainMark => ({
    ...mark,
    reason: reason === '' ? (before?.reason ?? '') : reason,
  });
  if (slots.length === 0)
    return run === undefined
      ? { ...marks, host: after(personal(marks)) }
      : { ...marks, ...onHost(personal(marks), mark), slots: marks.slots };
  if (run !== undefined) throw bad('a run drains the whole host', 'name no slots');
  return {
    ...marks,
    slots: { ...marks.slots, ...Object.fromEntries(slots.map((slot) => [slot, after(marks.slots[slot])])) },
  };
}

/** Takes marks back. Pure. */
export function withoutDrain(
  marks: DrainMarks,
  { slots, hostOnly, run }: UndrainOrder,
  known: readonly string[],
): DrainMarks {
  checkNames(slots, known);
  const { provision } = marks;
  const person = personal(marks);
  if (run !== undefined)
    return { ...onHost(person, provision?.run === run ? undefined : provision), slots: marks.slots };
  if (hostOnly)
    return { ...onHost(person?.owner === undefined ? undefined : person, provision), slots: marks.slots };
  if (slots.length === 0) return { slots: {} };
  const [whole] = onWholeHost(marks);
  if (whole !== undefined)
    throw bad(
      `the whole host is ${drainedBy(whole)}`,
      'undrain the host; slots that should stay out can be drained by name',
    );
  const kept = Object.entries(marks.slots).filter(([slot]) => !slots.includes(slot));
  return { slots: Object.fromEntries(kept) };
}

/** All marks, the weightiest first: a person's on the host, provision's, those on slots. Pure. */
export function drainsOf(marks: DrainMarks): readonly Drain[] {
  const onSlots = Object.entries(marks.slots).map(([slot, mark]) => ({ slot, ...mark }));
  return [...onWholeHost(marks), ...onSlots];
}

/** The mark that keeps a slot from taking jobs, the weightiest where there are several. Pure. */
export function markOn(marks: DrainMarks, slot: string): DrainMark | undefined {
  return onWholeHost(marks)[0] ?? marks.slots[slot];
}

function onWholeHost(marks: DrainMarks): readonly DrainMark[] {
  return [personal(marks), marks.provision].filter((mark) => mark !== undefined);
}

function bad(what: string, next: string): FleetError {
  return new FleetError({ code: 'control.bad-request', what, next });
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
