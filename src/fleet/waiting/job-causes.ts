import type { AzureAgent, JobRequest, ParallelJobs } from '../../shared/azure/client.ts';
import { isWaiting } from '../../shared/azure/job-requests.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { foldNames } from '../inventory/fold-names.ts';
import { type Judged, jobName, judgeAgent, type Place } from './agents.ts';
import { demandedVersion, lacks, noAgentFound } from './demands.ts';
import type { AgentReport, AgentState, Cause, JobReport, JobState, Unread } from './report.ts';

/** A job of a pool, with what was read for it. */
export interface JobSeen {
  readonly request: JobRequest;
  readonly pool: { readonly id: number; readonly name: string };
  readonly agents: Answered<readonly AzureAgent[]>;
  readonly placeOf: (agent: AzureAgent) => Place;
  /** Jobs of the pool that wait longer. */
  readonly ahead: number;
}

/** What concerns every job of the organization. */
export interface Around {
  /** Value undefined: the server does not report it. */
  readonly parallel: Answered<ParallelJobs | undefined>;
  readonly organization: string;
  /** Milliseconds. */
  readonly now: number;
}

/** An agent starts a job that it was sent within seconds. */
const takesMs = 60_000;
/** Agents nearest to the demands that are named. */
const mostNearest = 3;

/** Returns the state of a job request. A job that no agent meets has failed without an agent. Pure. */
export function jobState(request: JobRequest): JobState {
  const { result, receiveTime, reservedAgent } = request;
  if (result === undefined)
    return isWaiting(request) ? 'waiting' : receiveTime === undefined ? 'sent' : 'running';
  if (result === 'failed' && reservedAgent === undefined && receiveTime === undefined)
    return 'failed at once';
  return ends.get(result.toLowerCase()) ?? 'ended';
}

const ends: ReadonlyMap<string, JobState> = new Map([
  ['succeeded', 'succeeded'],
  ['succeededwithissues', 'succeeded'],
  ['failed', 'failed'],
  ['canceled', 'canceled'],
  ['abandoned', 'lost'],
]);

/** Returns a job with the reasons for which it waits or failed at once, and what is unknown about them. Pure. */
export function jobReport(
  seen: JobSeen,
  around: Around,
): { readonly job: JobReport; readonly unknown: readonly Unread[] } {
  const { request, pool, agents } = seen;
  const state = jobState(request);
  const isStuck = state === 'waiting' || state === 'failed at once' || state === 'sent';
  const found =
    isStuck && agents.kind === 'value'
      ? causesOf(state, seen, agents.value, around)
      : { causes: [], unknown: [] };
  const job: JobReport = {
    name: jobName(request),
    pool: pool.name,
    state,
    demands: request.demands ?? [],
    causes: found.causes,
    ...defined({
      queuedAt: request.queueTime,
      agent: request.reservedAgent?.name,
      ahead: state === 'waiting' && seen.ahead > 0 ? seen.ahead : undefined,
    }),
  };
  const unread =
    isStuck && agents.kind === 'unknown' ? [{ what: `agents of pool ${pool.name}`, why: agents.why }] : [];
  const managers = found.causes.flatMap((cause) =>
    (cause.agents ?? []).flatMap(({ host, unknown: why }) =>
      host === undefined || why === undefined ? [] : [{ what: `manager of ${host}`, why }],
    ),
  );
  return { job, unknown: [...unread, ...managers, ...found.unknown] };
}

interface Found {
  readonly causes: readonly Cause[];
  readonly unknown: readonly Unread[];
}

function causesOf(state: JobState, seen: JobSeen, agents: readonly AzureAgent[], around: Around): Found {
  if (state === 'sent') return { causes: notTaken(seen, agents, around), unknown: [] };
  if (state === 'failed at once') return { causes: refused(seen, agents), unknown: [] };
  return waits(seen, agents, around);
}

/** Returns the agents that fit a waiting job: the server says which; a short form of its answer leaves that out. Pure. */
export function fitting({ matchedAgents = [], demands = [] }: JobRequest, agents: readonly AzureAgent[]) {
  const ids = new Set(matchedAgents.map(({ id }) => id));
  return agents.filter((agent) => (ids.size > 0 ? ids.has(agent.id) : lacks(agent, demands).length === 0));
}

function waits(seen: JobSeen, agents: readonly AzureAgent[], around: Around): Found {
  const { request, placeOf } = seen;
  const fit = fitting(request, agents);
  if (fit.length === 0) return { causes: unmet(seen, agents), unknown: [] };
  const judged = fit.map((agent) => judgeAgent(agent, placeOf(agent), request));
  const by = Map.groupBy(judged, ({ report }) => (report.state === 'draining' ? 'drained' : report.state));
  const idle = by.get('idle') ?? [];
  const parallel = parallelJobs(request, around, idle.length > 0);
  const groups = order.flatMap((state) => {
    const group = by.get(state);
    return group === undefined ? [] : [groupCause(state, group, fit.length, seen, around)];
  });
  const free = idle.length > 0 && parallel.causes.length === 0 ? [unexplained(idle, seen, around)] : [];
  return {
    causes: [...parallel.causes, ...free, ...groups, ...tooOld(seen, agents, new Set(fit))],
    unknown: parallel.unknown,
  };
}

/** States of agents that get no job, in the order in which they are shown: a fix first, then those that end by themselves. */
const order = ['quarantined', 'drained', 'disabled', 'offline', 'starting', 'busy'] as const;

function parallelJobs({ data }: JobRequest, { parallel, organization }: Around, hasIdle: boolean): Found {
  // Jobs of public projects have their own limit.
  if (data?.['ParallelismTag']?.toLowerCase() === 'public') return { causes: [], unknown: [] };
  const why = parallel.kind === 'unknown' ? parallel.why : 'Azure DevOps does not report it';
  const jobs = parallel.kind === 'value' ? parallel.value : undefined;
  if (jobs === undefined) return { causes: [], unknown: [{ what: 'parallel jobs', why }] };
  const { permitted, used } = jobs;
  if (permitted === undefined || (used !== undefined && used < permitted)) return { causes: [], unknown: [] };
  if (used === undefined && !hasIdle) return { causes: [], unknown: [] };
  const inUse = used === undefined ? `an unknown number of its ${permitted}` : `${used} of its ${permitted}`;
  const cause: Cause = {
    code: 'waiting.parallel-jobs',
    what: `the organization runs ${inUse} permitted parallel jobs of private projects`,
    next: `wait for other jobs to end, or buy self-hosted parallel jobs: Organization settings > Parallel jobs (${organization}/_settings/buildqueue)`,
    ...(used === undefined ? { isPossible: true as const } : {}),
  };
  return { causes: [cause], unknown: [] };
}

const codes = {
  quarantined: 'waiting.quarantined',
  drained: 'waiting.drained',
  disabled: 'waiting.disabled',
  offline: 'waiting.offline',
  starting: 'waiting.starting',
  busy: 'waiting.busy',
} as const satisfies Partial<Record<AgentState, Cause['code']>>;

function groupCause(
  state: keyof typeof codes,
  group: readonly Judged[],
  total: number,
  { pool }: JobSeen,
  { organization }: Around,
): Cause {
  const page = `${organization}/_settings/agentpools?poolId=${pool.id}&view=agents`;
  const hosts = foldNames(group.flatMap(({ report }) => report.host ?? [])).replaceAll(', ', ' ');
  const atHosts =
    hosts === '' ? `check the agents on their page: ${page}` : `run "azp-fleet status ${hosts}"`;
  const own = [...new Set(group.flatMap(({ next }) => next ?? []))];
  const general = {
    quarantined: atHosts,
    drained: atHosts,
    disabled: `enable them on their page: ${page}`,
    offline: atHosts,
    starting: `wait a minute; if it lasts, ${atHosts}`,
    busy: 'wait for these jobs to end, or add agents or hosts to the pool',
  }[state];
  return {
    code: codes[state],
    what: `${share(group.length, total)} ${state}`,
    next: own.length === 0 || own.length > mostNearest ? general : own.join('; '),
    agents: group.map(({ report }) => report),
  };
}

/** Returns `the only agent that fits is`, `all 3 agents that fit are`, `1 of 3 agents that fit is`. */
function share(count: number, total: number): string {
  if (total === 1) return 'the only agent that fits is';
  if (count === total) return `${total === 2 ? 'both' : `all ${total}`} agents that fit are`;
  return `${count} of ${total} agents that fit ${count === 1 ? 'is' : 'are'}`;
}

function unexplained(idle: readonly Judged[], { request }: JobSeen, { now }: Around): Cause {
  const waitedMs = now - Date.parse(request.queueTime ?? '');
  const isNew = waitedMs < takesMs;
  const are = idle.length === 1 ? '1 agent that fits is' : `${idle.length} agents that fit are`;
  return {
    code: 'waiting.unexplained',
    what: `${are} idle: Azure DevOps has not sent the job to ${idle.length === 1 ? 'it' : 'them'}${isNew ? ' yet' : ''}`,
    next: isNew
      ? 'wait a minute, then run it again'
      : 'check https://status.dev.azure.com, and the page of the job; or cancel the job and run it again',
    agents: idle.map(({ report }) => report),
  };
}

/** Agents that could take the job now, if their program were newer. */
function tooOld(seen: JobSeen, agents: readonly AzureAgent[], fit: ReadonlySet<AzureAgent>) {
  const { demands = [] } = seen.request;
  const old = agents.filter((agent) => {
    if (fit.has(agent) || !agent.enabled || agent.status !== 'online') return false;
    const missing = lacks(agent, demands);
    return missing.length > 0 && missing.every(({ demand }) => demandedVersion(demand) !== undefined);
  });
  return old.length === 0 ? [] : [oldAgents(old, seen, 'more ')];
}

/** `kind`: before the noun. */
function oldAgents(old: readonly AzureAgent[], seen: JobSeen, kind: '' | 'more '): Cause {
  const { demands = [] } = seen.request;
  const [version] = demands
    .flatMap((demand) => demandedVersion(demand) ?? [])
    .toSorted((one, other) => other.localeCompare(one, undefined, { numeric: true }));
  const they = old.length === 1 ? `agent ${old[0]?.name} is` : `${old.length} ${kind}agents are`;
  return {
    code: 'waiting.agent-too-old',
    what: `${they} too old for the job, which demands agent version ${version} or newer`,
    next: `set agent.version in the inventory to ${version} or newer, then run "azp-fleet provision"`,
    agents: old.slice(0, mostNearest).map((agent) => nearReport(agent, seen)),
  };
}

/** Returns an agent with the demands that it does not meet. */
function nearReport(agent: AzureAgent, { request, placeOf }: JobSeen): AgentReport {
  const { name, enabled, status, assignedRequest } = agent;
  const idle: AgentState = status === 'online' ? 'idle' : 'offline';
  const state: AgentState = assignedRequest !== undefined ? 'busy' : enabled ? idle : 'disabled';
  const missing = lacks(agent, request.demands ?? []);
  return {
    agent: name,
    state,
    ...defined({ host: placeOf(agent).host, lacks: missing.length === 0 ? undefined : missing }),
  };
}

/** Returns why a job failed without an agent. The message of the server counts where the request has no demands. */
function refused(seen: JobSeen, agents: readonly AzureAgent[]): readonly Cause[] {
  const { request } = seen;
  const { statusMessage: message } = request;
  const said = noAgentFound(message ?? '');
  if (message !== undefined && said === undefined)
    return [
      {
        code: 'waiting.unexplained',
        what: `failed without an agent: ${message}`,
        next: 'open the run in the browser, and do what the message says',
      },
    ];
  const demands =
    request.demands === undefined || request.demands.length === 0 ? said?.demands : request.demands;
  return unmet({ ...seen, request: { ...request, ...defined({ demands }) } }, agents);
}

/** Returns which demands no agent meets, and the agents that lack fewest. */
function unmet(seen: JobSeen, agents: readonly AzureAgent[]): readonly Cause[] {
  const { request, pool } = seen;
  const { demands = [] } = request;
  if (agents.length === 0)
    return [
      {
        code: 'waiting.no-agents',
        what: `pool ${pool.name} has no agents`,
        next: 'run "azp-fleet provision", or correct the pool in the pipeline',
      },
    ];
  const near = agents
    .map((agent) => ({ agent, missing: lacks(agent, demands) }))
    .toSorted((one, other) => rank(one) - rank(other) || one.agent.name.localeCompare(other.agent.name));
  const [nearest] = near;
  if (nearest === undefined || nearest.missing.length === 0)
    return [
      fitsNow(
        near.map(({ agent }) => agent),
        seen,
      ),
    ];
  const ofVersion = near.filter(({ missing }) =>
    missing.every(({ demand }) => demandedVersion(demand) !== undefined),
  );
  if (ofVersion.length > 0)
    return [
      oldAgents(
        ofVersion.map(({ agent }) => agent),
        seen,
        '',
      ),
    ];
  const never = demands.filter((demand) =>
    near.every(({ missing }) => missing.some((each) => each.demand === demand)),
  );
  const lacking = never.length === 0 ? demands : never;
  const what =
    never.length === 0
      ? `no agent of pool ${pool.name} meets all demands of the job: ${lacking.join(', ')}`
      : `no agent of pool ${pool.name} meets the ${lacking.length === 1 ? 'demand' : 'demands'} ${lacking.join(', ')}`;
  return [
    {
      code: 'waiting.demand',
      what,
      next: `correct the demands in the pipeline ("azp-fleet pipeline ${pool.name}" lists the capabilities), or add the capability below capabilities: in the inventory and run "azp-fleet provision"`,
      agents: near
        .filter(({ missing }) => missing.length === nearest.missing.length)
        .slice(0, mostNearest)
        .map(({ agent }) => nearReport(agent, seen)),
    },
  ];
}

/** Fewest lacking demands first, then agents that work. */
function rank({ agent, missing }: { agent: AzureAgent; missing: readonly unknown[] }): number {
  return 2 * missing.length + (agent.enabled && agent.status === 'online' ? 0 : 1);
}

/** Agents change after a job was queued: that they did is certain only where the server says that none fitted. */
function fitsNow(near: readonly AzureAgent[], seen: JobSeen): Cause {
  const { result, statusMessage, demands = [] } = seen.request;
  const fit = near.filter((agent) => lacks(agent, demands).length === 0);
  const hasFailed = result !== undefined;
  return {
    code: 'waiting.demand',
    what: hasFailed
      ? 'no agent met the demands of the job when it was queued; one does now'
      : 'the agents that met the demands of the job when it was queued are gone; others do now',
    next: hasFailed ? 'run the job again' : 'cancel the job and run it again',
    ...(hasFailed && statusMessage !== undefined ? {} : { isPossible: true }),
    agents: fit.slice(0, mostNearest).map((agent) => nearReport(agent, seen)),
  };
}

function notTaken(seen: JobSeen, agents: readonly AzureAgent[], { now }: Around): readonly Cause[] {
  const { request, placeOf } = seen;
  const { reservedAgent, assignTime } = request;
  const ageMs = now - Date.parse(assignTime ?? request.queueTime ?? '');
  if (!(ageMs >= takesMs)) return [];
  const agent = agents.find(({ id }) => id === reservedAgent?.id);
  const judged = agent && judgeAgent(agent, placeOf(agent), request);
  const host = judged?.report.host;
  const name = reservedAgent?.name ?? 'an agent';
  return [
    {
      code: 'waiting.not-taken',
      what: `sent to agent ${name} ${Math.floor(ageMs / 60_000)} min ago, which has not started it`,
      next: `${host === undefined ? 'check that agent' : `run "azp-fleet status ${host}"`}; Azure DevOps takes the job back within about 15 minutes`,
      ...(judged === undefined ? {} : { agents: [judged.report] }),
    },
  ];
}
