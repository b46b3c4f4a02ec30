import { FleetError } from '../../shared/base/errors.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { SlotStatus, ManagerStatus } from '../../shared/contract/status.ts';
import type { ManagerClient } from './manager-client.ts';
import { namedSlots } from './named-slots.ts';

const pollMs = 500;
/** Maximum wait: the manager queries the server at once, or after its check of the GPUs. */
const patienceMs = 30_000;

/** The result of an attempt to take over agent names. */
interface NamesTaken {
  readonly taken: readonly SlotStatus[];
  /** The owner of the name is still online; each has its cause. */
  readonly refused: readonly SlotStatus[];
  /** The slots start no agent now. Their next start takes the name if its owner is gone by then. */
  readonly later: readonly SlotStatus[];
}

/**
 * Asks a manager to take over the agent names of these slots from another owner, once, and waits for the result: the
 * manager checks the owner when it takes the name.
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

/** Returns whether another owner holds the name; a new request clears an earlier refusal. */
function isHeld({ code }: SlotStatus): boolean {
  return code === heldCode;
}

/** Returns whether the name is taken over: the manager creates a container after it has registered the name. */
function isTaken({ container }: SlotStatus): boolean {
  return container !== undefined;
}

function isClosed({ state }: SlotStatus): boolean {
  return state === 'drained' || state === 'quarantined';
}

/** Returns the error for names that a manager could not take over, at least one. */
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
 * Returns slots that do not start because another owner holds their name in the pool. `chosen`: only these slots or agents;
 * empty: all. Throws for a name that no slot has. Pure.
 */
export function heldNames(status: ManagerStatus, chosen: readonly string[]): readonly SlotStatus[] {
  const names = namedSlots(status, chosen);
  return status.slots.filter(
    ({ slot, code }) => code === heldCode && (names.length === 0 || names.includes(slot)),
  );
}
