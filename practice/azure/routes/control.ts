import { z } from 'zod';

import type { BeginBuild, FakeJob, FakeOverview, MakeAgents, QueueJobs } from '../control/types.ts';
import { type FakeCall, type Reply, type Route, empty, ok } from '../http/reply.ts';
import { isCertificate } from '../http/entra.ts';
import { activityOf } from '../world/activity.ts';
import { approve, queueBuild } from '../world/builds.ts';
import { agentNamed, agentsIn } from '../world/agent-index.ts';
import { type Fake, nextId } from '../world/fake.ts';
import { idleAgent } from '../world/idle-agent.ts';
import { readableLog, scriptLog } from '../world/job/log.ts';
import { type NewJob, queueJob } from '../world/queue.ts';
import { beginSession, cancel, endSession, sessionOf } from '../world/scheduler.ts';
import type { FakeAgent, FakeRecord, FakeRequest, FakeSession } from '../world/state.ts';

const bad = (message: string): Reply => ({ status: 400, json: { message } });

const natural = z.int().nonnegative();
const some = z.int().positive();
const text = z.string().min(1);
const certificate = z.string().refine(isCertificate, 'not a certificate of an RSA key as PEM');

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** The requests of the control interface; an unknown member is refused, since it is probably misspelt. */
export const bodies = {
  jobs: z.strictObject({
    pool: text,
    project: text.exactOptional(),
    name: text.exactOptional(),
    count: some.max(10_000).exactOptional(),
    demands: z.array(text).exactOptional(),
    script: z.string().exactOptional(),
    seconds: z.number().nonnegative().exactOptional(),
    environment: z.record(z.string(), z.string()).exactOptional(),
    secrets: z.record(z.string(), z.string()).exactOptional(),
    container: z
      .strictObject({
        image: text,
        options: z.string().exactOptional(),
        localimage: z.boolean().exactOptional(),
        mapDockerSocket: z.boolean().exactOptional(),
      })
      .exactOptional(),
    planVersion: some.exactOptional(),
  }),
  /** At least the largest fleet that a user would try, and little enough for a server's memory. */
  agents: z.strictObject({
    pool: text,
    count: some.max(100_000),
    namePattern: z.string().includes('{n}').exactOptional(),
    online: z.boolean().exactOptional(),
    enabled: z.boolean().exactOptional(),
    version: text.exactOptional(),
    capabilities: z.record(z.string(), z.string()).exactOptional(),
  }),
  builds: z.strictObject({
    pool: text,
    project: text.exactOptional(),
    title: text.exactOptional(),
    definition: some.exactOptional(),
    jobs: some.max(1000).exactOptional(),
    demands: z.array(text).exactOptional(),
    seconds: z.number().nonnegative().exactOptional(),
    checks: z.array(z.enum(['Approval', 'TaskCheck', 'ExclusiveLock'])).exactOptional(),
  }),
  fault: z.strictObject({
    count: some,
    status: z.int().min(200).max(599).exactOptional(),
    rawStatus: z
      .string()
      .regex(/^\d{3}$/u, 'not three digits')
      .exactOptional(),
    deactivated: z.boolean().exactOptional(),
    retryAfterS: natural.exactOptional(),
    headers: z.record(z.string().regex(/^[\w-]+$/u), z.string().regex(/^[\x20-\x7e]*$/u)).exactOptional(),
    brokenJson: z.boolean().exactOptional(),
    delayMs: natural.exactOptional(),
    drop: z.enum(['before', 'after']).exactOptional(),
    method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']).exactOptional(),
    path: z.string().refine(isPattern, 'not a regular expression').exactOptional(),
    callers: z.enum(['clients', 'agents', 'all']).exactOptional(),
  }),
  /** Enough for an answer of many megabytes. */
  capabilities: z.strictObject({ count: natural.max(1_000_000) }),
  token: z.strictObject({ state: z.enum(['valid', 'expired', 'revoked', 'read-only']) }),
  denied: z.strictObject({
    permissions: z.array(
      z.enum([
        'pools.create',
        'pools.manage',
        'queues.create',
        'queues.authorize',
        'builds.read',
        'permissions.read',
      ]),
    ),
  }),
  applications: z.strictObject({
    applications: z.array(
      z.strictObject({
        clientId: text,
        tenantId: text,
        certificate: certificate.exactOptional(),
        federation: z
          .strictObject({ issuer: text, subject: text, audience: text, certificate })
          .exactOptional(),
      }),
    ),
  }),
  machine: z.strictObject({
    vm: z.strictObject({ clientId: text.exactOptional() }).exactOptional(),
    arc: z.strictObject({ keys: text }).exactOptional(),
  }),
  pipeline: z.strictObject({ id: some, title: z.string(), project: z.string(), pool: z.string() }),
  filters: z.strictObject({
    demands: z.boolean().exactOptional(),
    unmatched: z.boolean().exactOptional(),
  }),
  settle: z.strictObject({ ms: natural }),
  limits: z.strictObject({ parallelJobs: natural.nullable() }),
} as const;

/** Passes a body on if it matches the schema, and reports its errors otherwise. */
function withBody<T>(
  schema: z.ZodType<T>,
  use: (call: FakeCall, body: T) => Reply,
): (call: FakeCall) => Reply {
  return (call) => {
    const { success, data, error } = schema.safeParse(json(call.text));
    return success ? use(call, data) : bad(error.issues.map(lineOf).join('; '));
  };
}

function json(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

function lineOf({ path, message }: z.core.$ZodIssue): string {
  return path.length === 0 ? message : `${path.join('.')}: ${message}`;
}

/** Registers agents without a process, with the capabilities of machines with GPUs: for practice at scale. */
function makeAgents({ fake, baseUrl }: FakeCall, desired: MakeAgents): Reply {
  const { pool: name, count, namePattern = 'agent-{n}', online = false, version } = desired;
  const pool = fake.state.pools.find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (pool === undefined || pool.isHosted) return bad(`no self-hosted pool ${name}`);
  const names = Array.from({ length: count }, (_, index) => namePattern.replaceAll('{n}', String(index + 1)));
  const taken = names.find((each) => agentNamed(fake.state, pool.id, each) !== undefined);
  if (taken !== undefined) return bad(`pool ${pool.name} already has an agent ${taken}`);
  for (const each of names) {
    const agent = idleAgent(nextId(fake), pool.id, each, { baseUrl, now: fake.now() });
    if (version !== undefined) setVersion(agent, version);
    agent.enabled = desired.enabled ?? true;
    Object.assign(agent.userCapabilities, desired.capabilities);
    fake.state.agents.push(agent);
    if (online) beginSession(fake, silentSession(agent.id, fake.now()));
  }
  fake.changed();
  return ok({ made: count });
}

function setVersion(agent: FakeAgent, version: string): void {
  agent.version = version;
  agent.systemCapabilities['Agent.Version'] = version;
}

/** A session that no program polls: the agent is online until it expires, and starts no job that it gets. */
function silentSession(agentId: number, now: number): FakeSession {
  return {
    id: crypto.randomUUID(),
    agentId,
    ownerName: '',
    lastSeen: now,
    key: '',
    messages: [],
    shuttingDown: false,
  };
}

const agentOf = (fake: Fake, name: string): FakeAgent | undefined =>
  fake.state.agents.find((each) => each.name === name);

/** Ends the session of an agent, if it has one. */
function cutOff(fake: Fake, agent: FakeAgent | undefined): Reply {
  const session = agent && sessionOf(fake, agent.id);
  if (session !== undefined) endSession(fake, session);
  fake.changed();
  return empty;
}

function revoke(fake: Fake, name: string): Reply {
  const agent = agentOf(fake, name);
  if (agent === undefined) return bad(`no agent ${name}`);
  agent.revoked = true;
  return cutOff(fake, agent);
}

/** Gives an agent this many system capabilities more, as a job with a copy of the agent's key can. */
const publish =
  (name: string) =>
  ({ fake }: FakeCall, { count }: { readonly count: number }): Reply => {
    const agent = agentOf(fake, name);
    if (agent === undefined) return bad(`no agent ${name}`);
    for (let n = 0; n < count; n += 1) agent.systemCapabilities[`job.${n}`] = '1';
    fake.changed();
    return empty;
  };

const agentControlRoutes: readonly Route[] = [
  ['POST', /^\/_fake\/agents$/u, withBody(bodies.agents, makeAgents)],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/capabilities$/u,
    (call, name = '') => withBody(bodies.capabilities, publish(decodeURIComponent(name)))(call),
  ],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/revoke$/u,
    ({ fake }, name = '') => revoke(fake, decodeURIComponent(name)),
  ],
  [
    'POST',
    /^\/_fake\/agents\/([^/]+)\/end-session$/u,
    ({ fake }, name = '') => cutOff(fake, agentOf(fake, decodeURIComponent(name))),
  ],
];

/** Names of variables that a shell can read. */
const variableName = /^[A-Za-z_][A-Za-z0-9_]*$/u;

function queueJobs({ fake }: FakeCall, desired: QueueJobs): Reply {
  const pool = fake.state.pools.find(({ name }) => name.toLowerCase() === desired.pool.toLowerCase());
  if (pool === undefined) return bad(`no pool ${desired.pool}`);
  if (pool.isHosted) return bad(`nothing runs in ${pool.name}: its machines are the service's own`);
  const project = desired.project ?? fake.state.projects[0]?.name ?? '';
  if (!fake.state.projects.some(({ name }) => name === project)) return bad(`no project ${project}`);
  const problem = objection(desired);
  if (problem !== undefined) return bad(problem);
  const { name = 'job', count = 1, seconds = 0 } = desired;
  const job: Omit<NewJob, 'name'> = {
    poolId: pool.id,
    project,
    demands: desired.demands ?? [],
    script: desired.script ?? `sleep ${seconds}`,
    environment: desired.environment ?? {},
    secrets: desired.secrets ?? {},
    ...(desired.container === undefined ? {} : { container: desired.container }),
    ...(desired.planVersion === undefined ? {} : { planVersion: desired.planVersion }),
  };
  const jobs = Array.from({ length: count }, (_, index) =>
    queueJob(fake, { ...job, name: count === 1 ? name : `${name}-${index + 1}` }),
  );
  fake.changed();
  return ok(jobs.map((each) => describe(fake, each)));
}

/** Returns the errors in the variables of a job. */
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

/** Begins a run of a YAML pipeline, with everything that the service checks before it queues a job. */
function beginBuild({ fake }: FakeCall, desired: BeginBuild): Reply {
  const { pool, title = 'train', definition = 1, jobs = 1, demands = [], seconds = 0, checks = [] } = desired;
  const name = desired.project ?? fake.state.projects[0]?.name ?? '';
  const project = fake.state.projects.find((each) => each.name === name);
  if (project === undefined) return bad(`no project ${name}`);
  const build = queueBuild(fake, {
    project,
    pool,
    title,
    definitionId: definition,
    gates: checks,
    jobs: Array.from({ length: jobs }, (_, index) => ({
      name: jobs === 1 ? title : `${title}-${index + 1}`,
      demands,
      script: `sleep ${seconds}`,
    })),
  });
  fake.changed();
  return ok({ id: build.id });
}

const buildRoutes: readonly Route[] = [
  ['POST', /^\/_fake\/builds$/u, withBody(bodies.builds, beginBuild)],
  [
    'POST',
    /^\/_fake\/builds\/(\d+)\/approve$/u,
    ({ fake }, id = '') => {
      const build = fake.state.builds.find((each) => each.id === Number(id));
      if (build === undefined) return bad(`no build ${id}`);
      approve(fake, build);
      fake.changed();
      return empty;
    },
  ],
];

/** Answers for one job, which must exist. */
function one(answer: (fake: Fake, request: FakeRequest) => Reply): Route[2] {
  return ({ fake }, id = '') => {
    const request = fake.state.requests.find(({ requestId }) => requestId === Number(id));
    return request === undefined ? bad(`no job ${id}`) : answer(fake, request);
  };
}

const jobRoutes: readonly Route[] = [
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

function overview(fake: Fake): FakeOverview {
  const { state } = fake;
  const sessions = new Map(state.sessions.map((session) => [session.agentId, session]));
  const { assigned } = activityOf(state);
  return {
    organization: fake.organization,
    speed: 1 / fake.clock.scaled(1),
    pools: state.pools.map(({ id, name, autoUpdate }) => ({
      id,
      name,
      autoUpdate,
      agents: agentsIn(state, id).map((agent) => {
        const session = sessions.get(agent.id);
        return {
          id: agent.id,
          name: agent.name,
          enabled: agent.enabled,
          status: session === undefined ? 'offline' : 'online',
          busy: assigned.has(agent.id),
          userCapabilities: agent.userCapabilities,
          ...(session === undefined ? {} : { container: session.ownerName }),
        };
      }),
    })),
  };
}

/** The control interface under `/_fake`: not part of the imitated service, open to every caller that reaches the port. */
export const controlRoutes: readonly Route[] = [
  ['GET', /^\/_fake$/u, ({ fake }) => ok(overview(fake))],
  ...jobRoutes,
  ...buildRoutes,
  [
    'POST',
    /^\/_fake\/faults$/u,
    withBody(bodies.fault, ({ fake }, fault) => {
      fake.faults.push({ fault, left: fault.count });
      return empty;
    }),
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
    withBody(bodies.token, ({ fake }, { state }) => {
      fake.tokenState = state;
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/applications$/u,
    withBody(bodies.applications, ({ fake }, { applications }) => {
      fake.applications = applications;
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/machine$/u,
    withBody(bodies.machine, ({ fake }, machine) => {
      if (machine.vm && machine.arc) return bad('vm and arc: a machine is one of them');
      fake.machine = machine;
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/denied$/u,
    withBody(bodies.denied, ({ fake }, { permissions }) => {
      fake.denied.clear();
      for (const permission of permissions) fake.denied.add(permission);
      return empty;
    }),
  ],
  [
    'POST',
    /^\/_fake\/pipelines$/u,
    withBody(bodies.pipeline, ({ fake }, { id, title, project, pool }) => {
      const poolId = fake.state.pools.find(({ name }) => name === pool)?.id;
      if (poolId === undefined) return bad(`no pool ${pool}`);
      fake.pipelines.set(id, { title, project, poolId });
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/settle$/u,
    withBody(bodies.settle, ({ fake }, { ms }) => {
      fake.settleMs = ms;
      fake.stale.clear();
      return empty;
    }),
  ],
  [
    'PUT',
    /^\/_fake\/filters$/u,
    withBody(bodies.filters, ({ fake }, { demands, unmatched }) => {
      if (demands !== undefined) fake.ignoresDemands = !demands;
      if (unmatched !== undefined) fake.hidesUnmatched = !unmatched;
      return empty;
    }),
  ],
  ...agentControlRoutes,
  [
    'PUT',
    /^\/_fake\/limits$/u,
    withBody(bodies.limits, ({ fake }, { parallelJobs }) => {
      fake.state.parallelJobs = parallelJobs;
      fake.changed();
      return empty;
    }),
  ],
  [
    'GET',
    /^\/_fake\/requests$/u,
    ({ fake, query }) => {
      const after = Number(query.get('after') ?? 0);
      if (!Number.isInteger(after)) return bad('after is not the number of a request');
      return ok(fake.requestLog.filter(({ n }) => n > after));
    },
  ],
];
