import type { Facts } from '../../facts/facts.ts';

const open = ['starting', 'idle', 'busy', 'stopping'];
const closed = ['drained', 'quarantined'];

/** A run has drained the host and was cut off before it gave the agents back. */
export function leftDrained({ manager }: Facts): boolean {
  return manager.unitActive === 'active' && runDrains(manager.status).length > 0;
}

/** A manager is on the host, whatever it does: one that never was there is no loss to its pool. */
export function isInstalled({ manager }: Facts): boolean {
  return manager.current !== undefined || manager.unitActive === 'active';
}

/** The host's agents take jobs, or would if the server answered. Those of a manager that cannot be read may do so. */
export function takesJobs({ manager: { unitActive, status } }: Facts): boolean {
  if (unitActive !== 'active') return false;
  if (status === undefined) return true;
  const serverAway = status.pools?.every(({ up }) => !up) ?? false;
  return status.slots.some(({ state }) => open.includes(state) || (serverAway && !closed.includes(state)));
}

/**
 * A change of the host takes agents away: somebody may have drained all of them, or they may be broken, and then it does
 * not. What a run has drained that was cut off counts as in work: nobody meant it to stay so.
 */
export function hasAgents(facts: Facts): boolean {
  const { unitActive, status } = facts.manager;
  if (unitActive !== 'active') return false;
  if (status === undefined || leftDrained(facts)) return true;
  return status.slots.length === 0 || status.slots.some(({ state }) => !closed.includes(state));
}

/** It has booted after a run that was cut off had drained it. All by the host's own clock. */
export function rebootedSinceDrain({ manager: { status }, uptimeS }: Facts): boolean {
  if (status === undefined || uptimeS === undefined) return false;
  // The status is older than the facts, so that the boot was no earlier than this.
  const booted = Date.parse(status.at) - uptimeS * 1000;
  return runDrains(status).some(({ at }) => Date.parse(at) < booted);
}

function runDrains(status: Facts['manager']['status']) {
  return status?.drains?.filter(({ run }) => run !== undefined) ?? [];
}
