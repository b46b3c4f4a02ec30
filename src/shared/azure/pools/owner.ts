import { sha256 } from '../../base/digest.ts';

/**
 * The owner mark of the agents that an installation registers. It changes with the machine-id: a cloned disk owns nothing
 * of what its original registered. `installation`: made at the manager's first start.
 */
export function ownerId(machineId: string, installation: string): string {
  return sha256(`${machineId}:${installation}`).slice(0, 32);
}
