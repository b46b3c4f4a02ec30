import type { JobRequest } from '../../shared/azure/client.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Cause } from '../model.ts';

/** The server keeps a job this long after its lock has expired; the agent relies on it (RenewJobRequestAsync). */
const afterLockMs = 5 * 60_000;

/** Returns when the server gives up a job whose agent no longer renews its lock; ISO 8601, by the server's clock. Pure. */
export function givenUpAt(
  { lockedUntil }: Pick<JobRequest, 'lockedUntil'>,
  clock: Pick<Clock, 'scaled'>,
): string | undefined {
  const end = Date.parse(lockedUntil ?? '') + clock.scaled(afterLockMs);
  return Number.isFinite(end) ? `${new Date(end).toISOString().slice(0, 19)}Z` : undefined;
}

/** Describes a job that the server still shows on an agent that has ended. `until`: see givenUpAt. */
export function stillAssigned(
  agent: string,
  request: Pick<JobRequest, 'jobName' | 'requestId'> | undefined,
  until: string | undefined,
): Cause {
  const job = request === undefined ? 'a job' : `job ${request.jobName ?? request.requestId}`;
  const end = until === undefined ? 'within about 15 minutes' : `at ${until}`;
  return {
    code: 'agent.job-assigned',
    what: `the server still counts ${job} as running on agent ${agent}; it gives it up ${end}`,
    next: 'wait until then, or cancel the job in Azure DevOps; check the last run of this slot: azp-fleet logs',
  };
}

/** Returns whether no agent has the job yet. Pure. */
export function isWaiting({ result, assignTime, receiveTime, reservedAgent }: JobRequest): boolean {
  return [result, assignTime, receiveTime, reservedAgent].every(
    (known) => (known ?? undefined) === undefined,
  );
}
