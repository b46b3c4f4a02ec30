import type { AzureAgent, JobRequest } from '../../shared/azure/client.ts';
import { defined } from '../../shared/base/objects.ts';
import { drainEnd, drainNote, type Drain, ownerIn } from '../../shared/contract/drain.ts';
import { offSince } from '../../shared/contract/idle.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { SlotStatus } from '../../shared/contract/status.ts';
import type { AgentReport, AgentState } from './report.ts';

/** What is known of the machine of an agent. */
export interface Place {
  /** Its host in the inventory; undefined: no host of the inventory has this agent. */
  readonly host?: string;
  /** What its manager reports; undefined: it was not asked. */
  readonly slot?: { readonly status: SlotStatus; readonly drains: readonly Drain[] };
  /** Why its manager could not be read, and what to do. */
  readonly unread?: { readonly why: string; readonly next?: string };
}

/** An agent with its state, and what ends that. */
export interface Judged {
  readonly report: AgentReport;
  readonly next?: string;
}

/** Returns why an agent cannot take the job now, or that it could. Azure DevOps says whether, its manager says why. Pure. */
export function judgeAgent(agent: AzureAgent, place: Place, job: Pick<JobRequest, 'requestId'>): Judged {
  const { assignedRequest: assigned } = agent;
  if (assigned !== undefined && assigned.requestId !== job.requestId) return busy(agent, place, assigned);
  const known = byManager(agent, place);
  if (known !== undefined) return known;
  if (!agent.enabled) return disabled(agent, place);
  const at = (state: AgentState, why?: string) => report(agent, place, state, { why });
  if (agent.status === 'online') return { report: at('idle') };
  const why = place.host === undefined ? 'no host of the inventory has it' : place.slot?.status.cause;
  return { report: at('offline', why), ...defined({ next: place.slot?.status.next ?? place.unread?.next }) };
}

function report(
  { name, status, enabled, statusChangedOn }: AzureAgent,
  { host, unread }: Place,
  state: AgentState,
  more: { readonly [K in 'since' | 'why' | 'job' | 'link']?: string | undefined } = {},
): AgentReport {
  const changed = status === 'offline' && enabled ? statusChangedOn : undefined;
  return {
    agent: name,
    state,
    ...defined({ host, since: more.since ?? changed, ...more, unknown: unread?.why }),
  };
}

function busy(agent: AzureAgent, place: Place, job: JobRequest): Judged {
  return {
    report: {
      ...report(agent, place, 'busy', {
        job: jobName(job),
        since: job.receiveTime ?? job.assignTime,
        link: job.owner?._links?.web?.href,
      }),
      ...defined({ build: job.owner?.id }),
    },
  };
}

export function jobName({ jobName: name, requestId }: Pick<JobRequest, 'jobName' | 'requestId'>): string {
  return name ?? `request ${requestId}`;
}

/** Returns the state by the report of the agent's manager, where that explains why the agent gets no job. */
function byManager(agent: AzureAgent, place: Place): Judged | undefined {
  const { slot, host } = place;
  if (slot === undefined || host === undefined) return undefined;
  const { state, cause, since, next } = slot.status;
  const at = (shown: AgentState, why: string | undefined, action: string | undefined): Judged => ({
    report: report(agent, place, shown, { since, why }),
    ...defined({ next: action }),
  });
  const drains = slot.drains.filter((drain) => drain.slot === undefined || drain.slot === slot.status.slot);
  switch (state) {
    case 'drained':
    case 'stopping':
      return at(
        state === 'drained' ? state : 'draining',
        drains.map(drainNote).join('; ') || cause,
        drains.map((drain) => drainEnd(drain, host)).join('; ') || next,
      );
    case 'quarantined':
      return at(state, cause, next);
    case 'starting':
      return agent.enabled && agent.status === 'offline' ? at(state, cause, next) : undefined;
    default:
      return undefined;
  }
}

/** Its manager disables an agent with the reason as a capability; a person disables it without one. */
function disabled(agent: AzureAgent, place: Place): Judged {
  const reason = agent.userCapabilities?.[Capabilities.drainReason];
  if (reason === undefined)
    return { report: report(agent, place, 'disabled', { why: 'disabled in Azure DevOps' }) };
  const host = place.host ?? 'HOST';
  const state = stateFor(reason);
  const next =
    state === 'drained'
      ? drainEnd({ reason, at: '', ...defined({ owner: ownerIn(reason) }) }, host)
      : `run "azp-fleet status ${host}"`;
  return { report: report(agent, place, state, { why: reason }), next };
}

/** Returns the state for a reason that a manager wrote into the pool. */
function stateFor(reason: string): AgentState {
  if (offSince(reason) !== undefined) return 'offline';
  if (reason.startsWith('drained')) return 'drained';
  return reason.startsWith('GPU: ') ? 'quarantined' : 'disabled';
}
