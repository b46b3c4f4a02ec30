import { FleetError } from '../../shared/base/errors.ts';
import type { ManagerStatus, SlotStatus } from '../../shared/contract/status.ts';

/** Of a slot whose name in the pool somebody else has. */
export const heldCode = 'agent.name-held';

/**
 * Slots that do not start because somebody else holds their name in the pool. `chosen`: only these; none: all. A name
 * that no slot has is an error. Pure.
 */
export function heldNames(status: ManagerStatus, chosen: readonly string[]): readonly SlotStatus[] {
  const unknown = chosen.find((name) => !status.slots.some(({ slot }) => slot === name));
  if (unknown !== undefined) {
    throw new FleetError({
      code: 'slot.unknown',
      step: 'manager',
      what: `there is no slot ${unknown}`,
      expected: status.slots.map(({ slot }) => slot).join(', '),
      next: 'run it again with one of these',
    });
  }
  return status.slots.filter(
    ({ slot, code }) => code === heldCode && (chosen.length === 0 || chosen.includes(slot)),
  );
}
