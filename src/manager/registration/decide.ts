import type { AzureAgent, JobRequest } from '../../shared/azure/client.ts';
import { heldLine, heldNext, holderOf, mayBeTakenOver } from '../../shared/contract/holder.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { Cause, LeftSession } from '../model.ts';
import { stillAssigned, isWaiting } from '../../shared/azure/job-requests.ts';

export type RegistrationDecision =
  | { readonly kind: 'create' }
  | { readonly kind: 'replace'; readonly agent: AzureAgent }
  /** Delete the entry and create it again; the new entry has no session. */
  | { readonly kind: 'renew'; readonly agent: AzureAgent }
  /** Wait; the decision is repeated soon. */
  | { readonly kind: 'wait'; readonly cause: Cause }
  /** A person must permit it. */
  | { readonly kind: 'refuse'; readonly cause: Cause };

export interface RegistrationQuestion {
  readonly name: string;
  /** The server's entry of this name, read just now. */
  readonly agent: AzureAgent | undefined;
  /** Our owner id. */
  readonly owner: string;
  /** An administrator has allowed this host to take the name over. */
  readonly adopt: boolean;
  /** Inventory name of this host. */
  readonly host: string;
  /** See `holderOf`. */
  readonly now: Parameters<typeof holderOf>[3];
  /** This manager had started config.sh to create or replace this entry; config.sh writes no owner. */
  readonly started: boolean;
  /** Number of the slot's containers, in any state. */
  readonly containers: number;
  /** When the server gives up the agent's job; see `givenUpAt`. */
  readonly jobUntil: string | undefined;
  /** The session that an agent of this slot left open. */
  readonly left: LeftSession | undefined;
  /** The pool's unfinished requests, read only where they matter; undefined: too many to read. */
  readonly requests: readonly JobRequest[] | undefined;
}

export function containerExists(agent: string): Cause {
  return {
    code: 'slot.container-exists',
    what: `a container of agent ${agent} still exists`,
    next: 'wait: the manager collects it first',
  };
}

/** Returns whether the server still has the session that was left open, if no container of ours runs. */
export function isLeftOnline(agent: AzureAgent): boolean {
  return agent.status === 'online' && agent.assignedRequest === undefined;
}

/**
 * Decides whether the name may get a new key now. A new key invalidates the old one, so never while a container of the
 * slot exists or the server shows a job on the agent. An agent of another owner gets none, unless a person has allowed it
 * and that owner is offline, which is checked again here. Pure.
 */
export function decideRegistration(question: RegistrationQuestion): RegistrationDecision {
  const { name, agent, owner, adopt, started, host, now, containers, jobUntil, left, requests } = question;
  if (containers > 0) {
    return { kind: 'wait', cause: containerExists(name) };
  }
  if (agent === undefined) return { kind: 'create' };
  const known = agent.userCapabilities?.[Capabilities.owner];
  // config.sh starts no agent, so an agent that is online belongs to another owner.
  const isStarted = started && known === undefined && agent.status === 'offline';
  if (known !== owner && !isStarted) {
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
 * Returns a waiting job that only this agent can take: while there is one, its entry is not deleted. Another agent counts
 * when the server matched it, it is enabled and online, and its id is lower: of several agents that check the same job at
 * once, at least one keeps its entry. A job without matched agents counts as this agent's. Pure.
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

/** `job`: why the entry is not created again; `unknown`: the queue is too long to read. */
function leftSessionCause(
  agent: string,
  session: LeftSession,
  job: JobRequest | 'unknown' | undefined,
): Cause {
  return {
    code: 'agent.session-left',
    what: `the last agent of ${agent} ended without closing its session; the server keeps the session until ${session.until}${reasonText(job)}`,
    next: `wait at most ${durationText(session.leftS)}; if it returns, find the other machine that runs an agent of this name`,
  };
}

function reasonText(job: JobRequest | 'unknown' | undefined): string {
  if (job === undefined) return '';
  if (job === 'unknown') return '; the queue is too long to check whether a job waits for this agent alone';
  return `; job ${job.jobName ?? job.requestId} waits for this agent alone`;
}

function durationText(seconds: number): string {
  const whole = Math.max(1, Math.ceil(seconds));
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}
