import type { Clock } from '../base/clock.ts';
import type { JobRequest } from './client.ts';

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

/** Returns when the server gives up a job, for a sentence: `at 2026-11-21T02:15:00Z`. `until`: see givenUpAt. Pure. */
export function endOfJob(until: string | undefined): string {
  return until === undefined ? 'within about 15 minutes' : `at ${until}`;
}

/** What canceling does to a job whose agent is gone: only the agent could end it. */
export const cancelIsLate = 'canceling the job ends it no sooner, because its agent has ended';

/** Returns `the server still counts job train as running on agent box-0; it gives it up at …`. `until`: see givenUpAt. Pure. */
export function countedJob(
  agent: string,
  request: Pick<JobRequest, 'jobName' | 'requestId'> | undefined,
  until: string | undefined,
): string {
  const job = request === undefined ? 'a job' : `job ${request.jobName ?? request.requestId}`;
  return `the server still counts ${job} as running on agent ${agent}; it gives it up ${endOfJob(until)}`;
}

/** Describes a job that the server still counts on an agent that has ended. `until`: see givenUpAt. Pure. */
export function stillAssigned(...job: Parameters<typeof countedJob>) {
  return {
    code: 'agent.job-assigned',
    what: countedJob(...job),
    next: `wait until then: ${cancelIsLate}; check the last run of this slot: azp-fleet logs`,
  } as const;
}

/** Returns whether no agent has the job yet. Pure. */
export function isWaiting({ result, assignTime, receiveTime, reservedAgent }: JobRequest): boolean {
  return [result, assignTime, receiveTime, reservedAgent].every(
    (known) => (known ?? undefined) === undefined,
  );
}
