import pLimit from 'p-limit';

import type { BuildAddress } from '../../shared/azure/build-address.ts';
import type { Build, Builds, TimelineRecord } from '../../shared/azure/builds.ts';
import type { AzureAgent, AzureClient, JobRequest, Pool } from '../../shared/azure/client.ts';
import { hasCode } from '../../shared/azure/http/errors.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import { agentName } from '../../shared/contract/slots.ts';
import type { ManagerStatus } from '../../shared/contract/status.ts';
import type { ManagerAnswer } from '../client/fleet-managers.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { jobName, type Place } from './agents.ts';
import { buildCauses, type PoolRight } from './build-causes.ts';
import { noAgentFound } from './demands.ts';
import { fitting, type JobSeen, jobReport, jobState } from './job-causes.ts';
import type { QueuedJob, Unread, WaitingReport } from './report.ts';

export interface WaitingTools {
  readonly azure: Pick<AzureClient, 'listPools' | 'listAgents' | 'parallelJobs' | 'findProject'>;
  readonly builds: Builds;
  /** What `organizationUrl` returns. */
  readonly organization: string;
  /** Names of the pools of the inventory. */
  readonly pools: readonly string[];
  /** Projects of the inventory: a number alone does not name its project. */
  readonly projects: readonly string[];
  readonly hosts: readonly HostSpec[];
  /** Reads the status of the managers of these hosts. */
  readonly askManagers: (hosts: readonly HostSpec[]) => Promise<readonly ManagerAnswer<ManagerStatus>[]>;
  /** Milliseconds. */
  readonly now: number;
}

/** A pool with its job requests. */
interface PoolRead {
  readonly pool: Pool;
  readonly requests: readonly JobRequest[];
}

/** Calls at the same time. */
const parallel = 4;
/** Pools outside the inventory that are searched. */
const mostOthers = 200;
const lacksBuildRead = 'the token lacks Build (Read)';

/** Reads why a build waits, or failed at once. Changes nothing. */
export async function readWaiting(address: BuildAddress, tools: WaitingTools): Promise<WaitingReport> {
  const found = await findJobs(address, tools);
  const project = address.project ?? found.mine.flatMap(({ request }) => request.scopeId ?? [])[0];
  const projects = project === undefined ? tools.projects : [project];
  const read = await readBuild(address.build, projects, tools.builds);
  const jobs = [...found.mine, ...refusedInTimeline(read, found)];
  const seen = await readAgents(jobs, tools);
  const around = { parallel: await tried(tools.azure.parallelJobs()), ...tools };
  const reported = seen.map((job) => jobReport(job, around));
  const build = read.build.kind === 'value' ? read.build.value : undefined;
  const [first] = found.mine;
  const pipeline = build?.pipeline?.id ?? first?.request.definition?.id;
  const rights = mayNeedRights(read, jobs) ? await readRights(read.projects, found.pools, tools) : [];
  const causes = buildCauses({ ...read, rights, hasJobs: jobs.length > 0, ...defined({ pipeline }) });
  const isKnown = jobs.length > 0 || build !== undefined;
  const report: WaitingReport = {
    build: {
      id: address.build,
      ...defined({
        name: build?.name ?? first?.request.owner?.name,
        pipeline: build?.pipeline?.name ?? first?.request.definition?.name,
        project: build?.project ?? address.project,
        status: build?.status,
        result: build?.result,
      }),
    },
    jobs: reported.map(({ job }) => job),
    causes,
    queue: isKnown ? [] : found.read.flatMap(queued),
    unknown: distinct([
      ...found.unknown,
      ...reported.flatMap(({ unknown }) => unknown),
      ...unreadOf(read),
      ...rights.flatMap(({ pool, project: of, permitted }) =>
        permitted.kind === 'unknown'
          ? [{ what: `permission of pool ${pool} in project ${of}`, why: permitted.why }]
          : [],
      ),
    ]),
  };
  // Names of jobs and pools have one line.
  return foreignValue(report, (text) => foreignLine(text));
}

/** Returns the value, or why it could not be read. */
async function tried<T>(work: Promise<T>): Promise<Answered<T>> {
  try {
    return { kind: 'value', value: await work };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { kind: 'unknown', why: whyOf(error) };
  }
}

function whyOf({ problem: { what, seen } }: FleetError): string {
  return seen === undefined ? what : `${what}: ${seen}`;
}

function distinct(unread: readonly Unread[]): readonly Unread[] {
  return [...new Map(unread.map((each) => [JSON.stringify([each.what, each.why]), each])).values()];
}

interface FoundJob {
  readonly pool: Pool;
  readonly request: JobRequest;
  readonly ahead: number;
}

interface Found {
  /** The jobs of the build. */
  readonly mine: readonly FoundJob[];
  /** Pools of the inventory that exist. */
  readonly pools: readonly Pool[];
  readonly read: readonly PoolRead[];
  readonly unknown: readonly Unread[];
}

/** Finds the jobs of the build in the pools of the inventory, else in all others. */
async function findJobs(address: BuildAddress, { azure, builds, pools }: WaitingTools): Promise<Found> {
  const unknown: Unread[] = [];
  const limit = pLimit(parallel);
  const readPool = async (pool: Pool): Promise<readonly PoolRead[]> => {
    const requests = await limit(() => tried(builds.requests(pool.id)));
    if (requests.kind === 'value') return [{ pool, requests: requests.value }];
    unknown.push({ what: `queue of pool ${pool.name}`, why: requests.why });
    return [];
  };
  // A token that is not accepted for pools is the only finding.
  const all = await azure.listPools();
  const own = new Set(pools.map((name) => name.toLowerCase()));
  const [ours, others] = [true, false].map((isOurs) =>
    all.filter(({ name, isHosted }) => isHosted !== true && own.has(name.toLowerCase()) === isOurs),
  ) as [Pool[], Pool[]];
  for (const name of pools)
    if (!ours.some((pool) => pool.name.toLowerCase() === name.toLowerCase()))
      unknown.push({
        what: `queue of pool ${name}`,
        why: 'the pool does not exist, or the token may not see it',
      });
  const read = (await Promise.all(ours.map(readPool))).flat();
  const here = jobsOf(address, read);
  if (here.length > 0) return { mine: here, pools: ours, read, unknown };
  if (others.length > mostOthers)
    unknown.push({ what: `queues of ${others.length - mostOthers} other pools`, why: 'not read: too many' });
  const elsewhere = (await Promise.all(others.slice(0, mostOthers).map(readPool))).flat();
  return { mine: jobsOf(address, elsewhere), pools: ours, read, unknown };
}

/** Returns the jobs of the build; the one of the address if it is among them. Releases have numbers of their own. */
function jobsOf({ build, job }: BuildAddress, read: readonly PoolRead[]): readonly FoundJob[] {
  const all = read.flatMap(({ pool, requests }) => {
    const waiting = requests.filter((each) => jobState(each) === 'waiting');
    return requests.flatMap((request): readonly FoundJob[] => {
      const isBuild = request.planType === undefined || request.planType === 'Build';
      if (!isBuild || request.owner?.id !== build) return [];
      const ahead = waiting.filter(({ requestId }) => requestId < request.requestId).length;
      return [{ pool, request, ahead }];
    });
  });
  const chosen = all.filter(({ request }) => job !== undefined && request.jobId?.toLowerCase() === job);
  return (chosen.length > 0 ? chosen : all).toSorted((a, b) => a.request.requestId - b.request.requestId);
}

function queued({ pool, requests }: PoolRead): readonly QueuedJob[] {
  return requests.flatMap((request): readonly QueuedJob[] => {
    if (request.result !== undefined || request.owner === undefined) return [];
    const { owner, definition, queueTime } = request;
    return [
      {
        pool: pool.name,
        build: owner.id,
        job: jobName(request),
        state: jobState(request),
        ...defined({ buildName: owner.name, pipeline: definition?.name, queuedAt: queueTime }),
      },
    ];
  });
}

interface BuildRead {
  readonly build: Answered<Build | undefined>;
  readonly timeline: Answered<readonly TimelineRecord[]>;
  /** Where it may be: its own project, if that is known. */
  readonly projects: readonly string[];
}

/** Reads the build and its timeline from the first project that has it. */
async function readBuild(id: number, projects: readonly string[], builds: Builds): Promise<BuildRead> {
  const none: BuildRead['timeline'] = { kind: 'unknown', why: 'the build was not read' };
  if (projects.length === 0)
    return {
      build: {
        kind: 'unknown',
        why: 'its project is not known: give the address of the run instead of its number',
      },
      timeline: none,
      projects,
    };
  let unknown: Answered<undefined> = { kind: 'value', value: undefined };
  for (const project of projects) {
    const build = await triedBuild(builds.find(project, id), project);
    if (build.kind === 'unknown') unknown = build;
    if (build.kind === 'unknown' || build.value === undefined) continue;
    const timeline = await triedBuild(builds.timeline(project, id), project);
    const records: BuildRead['timeline'] =
      timeline.kind === 'value' ? { kind: 'value', value: timeline.value ?? [] } : timeline;
    return { build, timeline: records, projects: [project] };
  }
  return { build: unknown, timeline: none, projects };
}

/** A call beyond the scope of a token is refused like one with a wrong token; the pools have shown that it is right. */
async function triedBuild<T>(work: Promise<T>, project: string): Promise<Answered<T>> {
  try {
    return { kind: 'value', value: await work };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    if (hasCode(error, 'azure.auth')) return { kind: 'unknown', why: lacksBuildRead };
    if (hasCode(error, 'azure.permission'))
      return { kind: 'unknown', why: `the user of the token may not view builds of project ${project}` };
    return { kind: 'unknown', why: whyOf(error) };
  }
}

function unreadOf({ build, timeline }: BuildRead): readonly Unread[] {
  if (build.kind === 'unknown')
    return [{ what: 'approvals, checks and the name of the build', why: build.why }];
  if (build.value === undefined || timeline.kind === 'value') return [];
  return [{ what: 'approvals and checks', why: timeline.why }];
}

/** Returns the jobs that the timeline says no agent could run, and that no queue shows. */
function refusedInTimeline({ timeline }: BuildRead, { mine, pools, read }: Found): readonly FoundJob[] {
  const records = timeline.kind === 'value' ? timeline.value : [];
  return records.flatMap(({ id, name, errors }) => {
    const said = errors.flatMap((message) => noAgentFound(message) ?? [])[0];
    if (said === undefined || mine.some(({ request }) => request.jobId === id)) return [];
    const pool = [...pools, ...read.map((each) => each.pool)].find(
      (each) => each.name.toLowerCase() === said.pool.toLowerCase(),
    );
    const request = { requestId: 0, result: 'failed', demands: said.demands, ...defined({ jobName: name }) };
    return [{ pool: pool ?? { id: 0, name: said.pool }, request, ahead: 0 }];
  });
}

/** Reads the agents of the pools of jobs that wait or failed at once, and the managers of agents that take no job. */
async function readAgents(jobs: readonly FoundJob[], tools: WaitingTools): Promise<readonly JobSeen[]> {
  const stuck = jobs.filter(({ request }) =>
    ['waiting', 'sent', 'failed at once'].includes(jobState(request)),
  );
  const agents = new Map<number, Answered<readonly AzureAgent[]>>();
  for (const { pool } of stuck) {
    if (agents.has(pool.id)) continue;
    agents.set(
      pool.id,
      pool.id === 0
        ? { kind: 'unknown', why: 'the pool does not exist, or the token may not see it' }
        : await tried(tools.azure.listAgents(pool.id)),
    );
  }
  const silent = stuck.flatMap(({ pool, request }) => {
    const known = agents.get(pool.id);
    return known?.kind === 'value' && request.result === undefined
      ? fitting(request, known.value).filter(({ enabled, status }) => !enabled || status === 'offline')
      : [];
  });
  const placeOf = await readPlaces(silent, tools);
  return jobs.map(({ pool, request, ahead }) => ({
    request,
    pool,
    ahead,
    agents: agents.get(pool.id) ?? { kind: 'value', value: [] },
    placeOf,
  }));
}

async function readPlaces(
  silent: readonly AzureAgent[],
  { hosts, askManagers }: WaitingTools,
): Promise<(agent: AzureAgent) => Place> {
  // Many jobs of a build fit the same agents.
  const known = new Map<number, HostSpec | undefined>();
  const hostOf = (agent: AzureAgent): HostSpec | undefined => {
    if (!known.has(agent.id))
      known.set(
        agent.id,
        hosts.find((host) => isOf(agent, host)),
      );
    return known.get(agent.id);
  };
  const asked = new Set(silent.flatMap((agent) => hostOf(agent) ?? []));
  const answers = new Map((await askManagers([...asked])).map((answer) => [answer.host, answer]));
  return (agent) => {
    const host = hostOf(agent);
    if (host === undefined) return {};
    const answer = answers.get(host.name);
    if (answer === undefined) return { host: host.name };
    if ('problem' in answer) {
      const { what, next } = answer.problem;
      return { host: host.name, unread: { why: what, ...defined({ next }) } };
    }
    const { slots, drains } = answer.value;
    const slot = slots.find((each) => each.agent.toLowerCase() === agent.name.toLowerCase());
    return { host: host.name, ...(slot === undefined ? {} : { slot: { status: slot, drains } }) };
  };
}

/** Its manager writes the host into the pool; a name alone may be that of another installation's agent. */
function isOf({ name, userCapabilities }: AzureAgent, host: HostSpec): boolean {
  const said = userCapabilities?.[Capabilities.host];
  if (said !== undefined) return said === host.name;
  const [before = '', after = ''] = agentName(host, '{slot}').split('{slot}');
  const slot = name.slice(before.length, name.length - after.length);
  return name.startsWith(before) && name.endsWith(after) && /^[^-]+$/u.test(slot);
}

/** Tells whether a permission may be the reason: the build waits for one, or nothing else is known of it. */
function mayNeedRights({ build, timeline }: BuildRead, jobs: readonly FoundJob[]): boolean {
  const records = timeline.kind === 'value' ? timeline.value : [];
  const errors = build.kind === 'value' ? (build.value?.errors ?? []) : [];
  const waits = records.some(
    ({ type, state }) => type === 'Checkpoint.Authorization' && state !== 'completed',
  );
  const said = [...errors, ...records.flatMap((record) => record.errors)];
  return (
    waits ||
    said.some((message) => message.includes('Could not find a pool')) ||
    (build.kind === 'unknown' && jobs.length === 0)
  );
}

async function readRights(
  projects: readonly string[],
  pools: readonly Pool[],
  { azure, builds }: WaitingTools,
): Promise<readonly PoolRight[]> {
  const rights = projects.map(async (project) => {
    const found = await tried(azure.findProject(project));
    return await Promise.all(
      pools.map(async ({ id, name }): Promise<PoolRight> => {
        const at = { pool: name, project };
        if (found.kind === 'unknown') return { ...at, permitted: found };
        if (found.value === undefined)
          return {
            ...at,
            permitted: { kind: 'unknown', why: 'the project does not exist, or the token may not see it' },
          };
        const queue = found.value.queues.find(({ poolId }) => poolId === id);
        if (queue === undefined) return { ...at, permitted: { kind: 'value', value: undefined } };
        const permitted = await tried(builds.permitted(project, queue.id));
        return { ...at, permitted };
      }),
    );
  });
  return (await Promise.all(rights)).flat();
}
