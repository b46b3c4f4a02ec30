import type { FakeJob, QueueJobs } from '../../control/types.ts';
import { ok, type FakeCall, type Reply, type Route } from '../../http/reply.ts';
import type { Fake } from '../../world/fake.ts';
import { readableLog, scriptLog } from '../../world/job/log.ts';
import { queueJob, type NewJob } from '../../world/queue.ts';
import { cancel } from '../../world/scheduler.ts';
import type { FakeRecord, FakeRequest } from '../../world/state.ts';
import { bad, bodies, withBody } from './bodies.ts';

/** Names of variables that a shell can read. */
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/u;

function queueJobs({ fake }: FakeCall, wanted: QueueJobs): Reply {
  const pool = fake.state.pools.find(({ name }) => name.toLowerCase() === wanted.pool.toLowerCase());
  if (pool === undefined) return bad(`no pool ${wanted.pool}`);
  if (pool.isHosted) return bad(`nothing runs in ${pool.name}: its machines are the service's own`);
  const project = wanted.project ?? fake.state.projects[0]?.name ?? '';
  if (!fake.state.projects.some(({ name }) => name === project)) return bad(`no project ${project}`);
  const problem = objection(wanted);
  if (problem !== undefined) return bad(problem);
  const { name = 'job', count = 1, seconds = 0 } = wanted;
  const job: Omit<NewJob, 'name'> = {
    poolId: pool.id,
    project,
    demands: wanted.demands ?? [],
    script: wanted.script ?? `sleep ${seconds}`,
    environment: wanted.environment ?? {},
    secrets: wanted.secrets ?? {},
    ...(wanted.container === undefined ? {} : { container: wanted.container }),
    ...(wanted.planVersion === undefined ? {} : { planVersion: wanted.planVersion }),
  };
  const jobs = Array.from({ length: count }, (_, index) =>
    queueJob(fake, { ...job, name: count === 1 ? name : `${name}-${index + 1}` }),
  );
  fake.changed();
  return ok(jobs.map((each) => describe(fake, each)));
}

/** What is wrong with the variables of a job. */
function objection({ environment = {}, secrets = {} }: QueueJobs): string | undefined {
  const names = [...Object.keys(environment), ...Object.keys(secrets)];
  const wrong = names.find((name) => !variableName.test(name));
  if (wrong !== undefined) return `no name of a variable: ${wrong}`;
  const twice = Object.keys(secrets).find((name) => name in environment);
  return twice === undefined ? undefined : `both in environment and in secrets: ${twice}`;
}

function describe(fake: Fake, request: FakeRequest): FakeJob {
  const iso = (time: number) => new Date(time).toISOString();
  return {
    id: request.requestId,
    name: request.jobName,
    pool: fake.state.pools.find(({ id }) => id === request.poolId)?.name ?? '',
    state: stateOf(request),
    ...(request.result === undefined ? {} : { result: request.result }),
    ...(request.statusMessage === undefined ? {} : { message: request.statusMessage }),
    queuedAt: iso(request.queueTime),
    ...(request.receiveTime === undefined ? {} : { startedAt: iso(request.receiveTime) }),
    ...(request.finishTime === undefined ? {} : { finishedAt: iso(request.finishTime) }),
    ...(request.lockedUntil === undefined ? {} : { lockedUntil: iso(request.lockedUntil) }),
    runs: request.runs.map(({ agent, session, container, at }) => ({
      agent,
      session,
      container,
      at: iso(at),
    })),
    steps: steps(request),
    log: scriptLog(request),
  };
}

function stateOf(request: FakeRequest): FakeJob['state'] {
  if (request.result !== undefined) return 'done';
  if (request.receiveTime !== undefined) return 'running';
  return request.agentId === undefined ? 'waiting' : 'assigned';
}

function steps({ timelines, timelineId }: FakeRequest): FakeJob['steps'] {
  const records = (timelines[timelineId]?.records ?? []).filter(({ type }) => type === 'Task');
  const order = (record: FakeRecord) => Number(record['order'] ?? 0);
  return records
    .toSorted((a, b) => order(a) - order(b))
    .map(({ name, state, result }) => ({
      name: typeof name === 'string' ? name : '',
      state: typeof state === 'string' ? state : 'pending',
      ...(typeof result === 'string' ? { result } : {}),
    }));
}

/** Answers for one job, which must exist. */
function one(answer: (fake: Fake, request: FakeRequest) => Reply): Route[2] {
  return ({ fake }, id = '') => {
    const request = fake.state.requests.find(({ requestId }) => requestId === Number(id));
    return request === undefined ? bad(`no job ${id}`) : answer(fake, request);
  };
}

export const jobRoutes: readonly Route[] = [
  ['POST', /^\/_fake\/jobs$/u, withBody(bodies.jobs, queueJobs)],
  ['GET', /^\/_fake\/jobs$/u, ({ fake }) => ok(fake.state.requests.map((each) => describe(fake, each)))],
  ['GET', /^\/_fake\/jobs\/(\d+)$/u, one((fake, request) => ok(describe(fake, request)))],
  [
    'GET',
    /^\/_fake\/jobs\/(\d+)\/log$/u,
    one((_fake, request) => ({
      status: 200,
      content: { type: 'text/plain; charset=utf-8', bytes: readableLog(request) },
    })),
  ],
  [
    'POST',
    /^\/_fake\/jobs\/(\d+)\/cancel$/u,
    one((fake, request) => {
      cancel(fake, request);
      fake.changed();
      return ok(describe(fake, request));
    }),
  ],
];
