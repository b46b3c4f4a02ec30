import type { AzureAgent, JobRequest } from '../../shared/azure/client.ts';
import type { Cause, LeftSession } from '../model.ts';
import { isWaiting } from '../pool/waiting.ts';

/**
 * A job that waits and that nobody but this agent may come to take: while there is one, its entry is not deleted.
 * Others count when the server matched them, they are enabled and online, and their id is lower: of several agents that
 * look at the same job at the same time one at least keeps its entry. A job of which the server does not say whom it
 * matched counts as this agent's. Pure.
 */
export function onlyTaker(agent: AzureAgent, requests: readonly JobRequest[]): JobRequest | undefined {
  return requests.filter(isWaiting).find(({ matchedAgents }) => {
    const matched = matchedAgents ?? [agent];
    const others = matched.filter(
      ({ id, enabled, status }) => id < agent.id && enabled === true && status === 'online',
    );
    return matched.some(({ id }) => id === agent.id) && others.length === 0;
  });
}

/** `job`: why the entry is not made anew; `unknown`: it cannot be told whether a job waits for this agent alone. */
export function leftSessionCause(
  agent: string,
  session: LeftSession,
  job: JobRequest | 'unknown' | undefined,
): Cause {
  return {
    code: 'agent.session-left',
    what: `the last agent of ${agent} ended without closing its session, which the server keeps until ${session.until}${waitingFor(job)}`,
    next: `wait: ${spoken(session.leftS)} are left at most; if it comes back, look for another machine that runs an agent of this name`,
  };
}

function waitingFor(job: JobRequest | 'unknown' | undefined): string {
  if (job === undefined) return '';
  if (job === 'unknown') return '; the queue is too long to see whether a job waits for no other agent';
  return `; job ${job.jobName ?? job.requestId} waits for no other agent`;
}

function spoken(seconds: number): string {
  const whole = Math.max(1, Math.ceil(seconds));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
