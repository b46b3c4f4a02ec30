import { FleetError } from '../../shared/base/errors.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';

/**
 * Returns the slots with these names, each the name of a slot or of its agent; a slot's own name comes first. Throws for a name
 * that neither has. Pure.
 */
export function namedSlots(
  { slots }: Pick<ManagerStatus, 'slots'>,
  names: readonly string[],
): readonly string[] {
  const found = names.map((name) => {
    const slot = slots.find((each) => each.slot === name) ?? slots.find(({ agent }) => agent === name);
    if (slot === undefined) throw unknownSlot(name, slots);
    return slot.slot;
  });
  return [...new Set(found)];
}

function unknownSlot(name: string, slots: ManagerStatus['slots']): FleetError {
  const known = slots.map(({ slot }) => slot).join(', ');
  return new FleetError({
    code: 'slot.unknown',
    step: 'manager',
    what: `there is no slot ${name}`,
    expected: known === '' ? 'no slot: the host has none' : `slots: ${known}, or the names of their agents`,
    next: 'correct the name of the slot',
  });
}
