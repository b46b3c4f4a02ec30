import type { JobRequest } from '../../shared/azure/client.ts';
import { isWaiting } from '../pool/waiting.ts';
import type { Use } from './use.ts';

/**
 * A job that waits in a pool and that one of these agents could take: the server matched it, or does not say whom it did.
 * Pure.
 */
export function jobWaiting(
  pool: string,
  requests: readonly JobRequest[],
  agents: ReadonlySet<number>,
): Use | undefined {
  if (agents.size === 0) return undefined;
  const found = requests
    .filter(isWaiting)
    .find(({ matchedAgents }) => matchedAgents?.some(({ id }) => agents.has(id)) ?? true);
  if (found === undefined) return undefined;
  const { requestId, jobName = String(requestId) } = found;
  return {
    key: `job ${requestId}`,
    kind: 'use',
    what: `job ${jobName} waits in pool ${pool}`,
    next: 'let it run, or cancel it in Azure DevOps',
  };
}

/** Why the queue could not be asked. Pure. */
export function queueUnknown(pool: string, why: string): Use {
  return {
    key: `pool ${pool}`,
    kind: 'use',
    what: `whether a job waits in pool ${pool} is not known: ${why}`,
    next: 'mend what the status shows for the pool; it is asked again by itself',
  };
}
