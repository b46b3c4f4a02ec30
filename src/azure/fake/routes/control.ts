import type { FakeJob, FakeOverview, QueueJobs } from '../control/types.ts';
import type { Fake, Permission, TokenState } from '../world/fake.ts';
import type { Fault } from '../world/faults.ts';
import { empty, ok, type Reply, type Route } from '../http/reply.ts';
import { assignedRequest, endSession, finish, queueJob, send, sessionOf } from '../world/scheduler.ts';
import type { FakeRequest } from '../world/state.ts';

const bad = (message: string): Reply => ({ status: 400, json: { message } });

function queueJobs(fake: Fake, wanted: QueueJobs): Reply {
  const pool = fake.state.pools.find(({ name }) => name.toLowerCase() === wanted.pool?.toLowerCase());
  if (pool === undefined) return bad(`no pool ${wanted.pool}`);
  const count = wanted.count ?? 1;
  const name = wanted.name ?? 'job';
  const jobs = Array.from({ length: count }, (_, index) =>
    queueJob(fake, {
      poolId: pool.id,
      project: wanted.project ?? fake.state.projects[0]?.name ?? 'vision',
      name: count === 1 ? name : `${name}-${index + 1}`,
      demands: wanted.demands ?? [],
      script: wanted.script ?? `sleep ${wanted.seconds ?? 0}`,
    }),
  );
  fake.changed();
  return ok(jobs.map((job) => describe(fake, job)));
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
    runs: request.runs.map(({ agent, session, container, at }) => ({
      agent,
      session,
      container,
      at: iso(at),
    })),
    log: request.log,
  };
}

function stateOf(request: FakeRequest): FakeJob['state'] {
  if (request.result !== undefined) return 'done';
  if (request.receiveTime !== undefined) return 'running';
  return request.agentId === undefined ? 'waiting' : 'assigned';
}

function cancel(fake: Fake, id: number): Reply {
  const request = fake.state.requests.find(({ requestId }) => requestId === id);
  if (request === undefined) return bad(`no job ${id}`);
  const session = sessionOf(fake, request.agentId ?? 0);
  if (request.agentId === undefined) finish(fake, request, 'canceled');
  else if (session !== undefined) send(fake, session, 'JobCancellation', { jobId: request.jobId });
  fake.changed();
  return ok(describe(fake, request));
}

function overview(fake: Fake): FakeOverview {
  return {
    organization: fake.organization,
    speed: 1 / fake.clock.scaled(1),
    pools: fake.state.pools.map(({ id, name, autoUpdate }) => ({
      id,
      name,
      autoUpdate,
      agents: fake.state.agents
        .filter(({ poolId }) => poolId === id)
        .map((agent) => {
          const session = sessionOf(fake, agent.id);
          return {
            id: agent.id,
            name: agent.name,
            enabled: agent.enabled,
            status: session === undefined ? 'offline' : 'online',
            busy: assignedRequest(fake, agent.id) !== undefined,
            userCapabilities: agent.userCapabilities,
            ...(session === undefined ? {} : { container: session.ownerName }),
          };
        }),
    })),
  };
}

/** The switchboard under `/_fake`: not part of the imitated service, open to whoever reaches the port. */
export const controlRoutes: readonly Route[] = [
  ['GET', /^\/_fake\/?$/u, ({ fake }) => ok(overview(fake))],
  ['POST', /^\/_fake\/jobs$/u, ({ fake, body }) => queueJobs(fake, body as unknown as QueueJobs)],
  [
    'GET',
    /^\/_fake\/jobs$/u,
    ({ fake }) => ok(fake.state.requests.map((request) => describe(fake, request))),
  ],
  ['POST', /^\/_fake\/jobs\/(\d+)\/cancel$/u, ({ fake }, id) => cancel(fake, Number(id))],
  [
    'POST',
    /^\/_fake\/faults$/u,
    ({ fake, body }) => {
      const fault = body as unknown as Fault;
      if (typeof fault.count !== 'number') return bad('count is missing');
      fake.faults.push({ fault, left: fault.count });
      return empty;
    },
  ],
  [
    'DELETE',
    /^\/_fake\/faults$/u,
    ({ fake }) => {
      fake.faults.length = 0;
      return empty;
    },
  ],
  [
    'PUT',
    /^\/_fake\/token$/u,
    ({ fake, body }) => {
      fake.tokenState = body['state'] as TokenState;
      return empty;
    },
  ],
  [
    'PUT',
    /^\/_fake\/denied$/u,
    ({ fake, body }) => {
      fake.denied.clear();
      for (const permission of body['permissions'] as Permission[]) fake.denied.add(permission);
      return empty;
    },
  ],
  [
    'PUT',
    /^\/_fake\/settle$/u,
    ({ fake, body }) => {
      fake.settleMs = Number(body['ms']);
      fake.stale.clear();
      return empty;
    },
  ],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/revoke$/u,
    ({ fake }, name = '') => {
      const agent = fake.state.agents.find((each) => each.name === decodeURIComponent(name));
      if (agent === undefined) return bad(`no agent ${name}`);
      agent.revoked = true;
      const session = sessionOf(fake, agent.id);
      if (session !== undefined) endSession(fake, session);
      fake.changed();
      return empty;
    },
  ],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/end-session$/u,
    ({ fake }, name = '') => {
      const agent = fake.state.agents.find((each) => each.name === decodeURIComponent(name));
      const session = sessionOf(fake, agent?.id ?? 0);
      if (session !== undefined) endSession(fake, session);
      fake.changed();
      return empty;
    },
  ],
  [
    'GET',
    /^\/_fake\/requests$/u,
    ({ fake, query }) => ok(fake.requestLog.filter(({ n }) => n > Number(query.get('after') ?? 0))),
  ],
];
