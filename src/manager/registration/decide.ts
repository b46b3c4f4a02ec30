import type { AzureAgent, JobRequest } from '../../shared/azure/client.ts';
import { heldLine, heldNext, holderOf, mayBeTakenOver } from '../../shared/contract/holder.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { Cause, LeftSession } from '../model.ts';
import { stillAssigned, isWaiting } from '../pool/job-requests.ts';

export type RegistrationDecision =
  | { readonly kind: 'create' }
  | { readonly kind: 'replace'; readonly agent: AzureAgent }
  /** The entry is deleted and made anew: the new one has no session. */
  | { readonly kind: 'renew'; readonly agent: AzureAgent }
  /** Not now; asked again shortly. */
  | { readonly kind: 'wait'; readonly cause: Cause }
  /** Not without a person's word. */
  | { readonly kind: 'refuse'; readonly cause: Cause };

export interface RegistrationQuestion {
  readonly name: string;
  /** What the server has under this name, read just now. */
  readonly agent: AzureAgent | undefined;
  /** Our owner id. */
  readonly owner: string;
  /** An administrator has said that this host may take the name over. */
  readonly adopt: boolean;
  /** Inventory name of this host. */
  readonly host: string;
  /** See `holderOf`. */
  readonly now: Parameters<typeof holderOf>[3];
  /** We had begun to let config.sh make or replace this entry, which marks it as nobody's. */
  readonly begun: boolean;
  /** Containers of the slot in any state but gone. */
  readonly containers: number;
  /** When the server gives up the job that it shows on the agent, see givenUpAt. */
  readonly jobUntil: string | undefined;
  /** What an agent of this slot has left. */
  readonly left: LeftSession | undefined;
  /** The pool's unfinished requests, asked for only where they matter; undefined: there are too many to be looked at. */
  readonly requests: readonly JobRequest[] | undefined;
}

export function containerExists(agent: string): Cause {
  return {
    code: 'slot.container-exists',
    what: `a container of agent ${agent} still exists`,
    next: 'wait: it is collected first',
  };
}

/** No container of ours runs, yet the server has a session: the one that was left. */
export function isLeftOnline(agent: AzureAgent): boolean {
  return agent.status === 'online' && agent.assignedRequest === undefined;
}

/**
 * Whether the name may get a new key now. The old key dies with it, so never while a container of the slot exists or
 * the server shows a job assigned to the agent; and never for an agent that somebody else registered, unless a person has
 * said so and that owner is gone: looked at here, because what a person saw is old by now.
 */
export function decideRegistration(question: RegistrationQuestion): RegistrationDecision {
  const { name, agent, owner, adopt, begun, host, now, containers, jobUntil, left, requests } = question;
  if (containers > 0) {
    return { kind: 'wait', cause: containerExists(name) };
  }
  if (agent === undefined) return { kind: 'create' };
  const mark = agent.userCapabilities?.[Capabilities.owner];
  // One that works is somebody's: config.sh starts no agent.
  const isBegun = begun && mark === undefined && agent.status === 'offline';
  if (mark !== owner && !isBegun) {
    const holder = holderOf([agent], [], host, now);
    if (!adopt || !mayBeTakenOver(holder)) {
      const cause: Cause = { code: 'agent.name-held', what: heldLine(holder), next: heldNext(holder, host) };
      return { kind: 'refuse', cause };
    }
  }
  if (agent.assignedRequest !== undefined) {
    return { kind: 'wait', cause: stillAssigned(agent.name, agent.assignedRequest, jobUntil) };
  }
  if (left !== undefined && isLeftOnline(agent)) {
    const job = requests && onlyTaker(agent, requests);
    if (requests !== undefined && job === undefined && left.mayRenew) return { kind: 'renew', agent };
    return { kind: 'wait', cause: leftSessionCause(name, left, requests === undefined ? 'unknown' : job) };
  }
  return { kind: 'replace', agent };
}

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
function leftSessionCause(
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
