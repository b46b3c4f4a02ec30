import { FleetError } from '../../shared/base/errors.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { SlotStatus, ManagerStatus } from '../../shared/contract/status.ts';
import type { ManagerClient } from './manager-client.ts';

const pollMs = 500;
/** The manager asks the server at once, or after its check of the GPUs. */
const patienceMs = 30_000;

/** What a manager has made of the order to take names over. */
interface NamesTaken {
  readonly taken: readonly SlotStatus[];
  /** It has looked, and their owner lives; each has its cause. */
  readonly refused: readonly SlotStatus[];
  /** Their slots start no agent now. When they do, the name is taken if its owner is gone then. */
  readonly later: readonly SlotStatus[];
}

/**
 * Has a manager take these slots' names over from another owner, once, and waits for what it says: it looks at the owner
 * itself in the moment in which it would take the name.
 */
export async function takeNames(
  manager: Pick<ManagerClient, 'adopt' | 'status'>,
  slots: readonly string[],
  { clock, sleep }: { readonly clock: Clock; readonly sleep: (ms: number) => Promise<void> },
): Promise<NamesTaken> {
  await manager.adopt(slots);
  const deadline = clock.monotonic() + patienceMs;
  for (;;) {
    const status = await manager.status();
    const seen = status.slots.filter(({ slot }) => slots.includes(slot));
    const open = seen.filter((slot) => !isTaken(slot) && !isHeld(slot));
    const ends = clock.monotonic() >= deadline || open.every(isClosed);
    if (ends) return { taken: seen.filter(isTaken), refused: seen.filter(isHeld), later: open };
    await sleep(pollMs);
  }
}

/** The order itself takes an earlier refusal back. */
function isHeld({ code }: SlotStatus): boolean {
  return code === heldCode;
}

/** A container is made after its name has been registered. */
function isTaken({ container }: SlotStatus): boolean {
  return container !== undefined;
}

function isClosed({ state }: SlotStatus): boolean {
  return state === 'drained' || state === 'quarantined';
}

/** Why a manager does not take these names, at least one. */
export function refusedNames(host: string, refused: readonly SlotStatus[]): FleetError {
  return new FleetError({
    code: heldCode,
    host,
    step: 'manager',
    what: refused.map(({ agent, cause }) => cause ?? `agent ${agent} is held by another owner`).join('; '),
    next: refused[0]?.next ?? `run "azp-fleet status ${host}"`,
  });
}

/** Code of a slot whose agent name another owner has in the pool. */
const heldCode = 'agent.name-held';

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
      next: 'use one of these slots',
    });
  }
  return status.slots.filter(
    ({ slot, code }) => code === heldCode && (chosen.length === 0 || chosen.includes(slot)),
  );
}
