import { parameter } from '../http/arguments.ts';
import { type FakeCall, type Reply, type Route, empty, list, ok, refusal, textOf } from '../http/reply.ts';
import { describeAgentReference, describeIdentity } from '../shapes.ts';
import { agentOf, agentsIn } from '../world/agent-index.ts';
import { type Fake, nextId } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import type { MaintenanceDefinition, MaintenanceJob } from '../world/state.ts';
import { describePoolReference, lockedPool, poolMissing, poolOf } from './pools.ts';

const path = (rest: string) => new RegExp(`^/_apis/distributedtask/pools/(\\d+)/${rest}$`, 'iu');
const definitions = path('maintenancedefinitions');
const definition = path(String.raw`maintenancedefinitions/(\d+)`);
const jobs = path('maintenancejobs');
const job = path(String.raw`maintenancejobs/(\d+)`);

const definitionMissing = (id: unknown) =>
  refusal(
    404,
    'TaskAgentPoolMaintenanceDefinitionNotFoundException',
    `No maintenance definition found with identifier ${String(id)}.`,
  );

const jobMissing = (id: string) =>
  refusal(
    404,
    'TaskAgentPoolMaintenanceJobNotFoundException',
    `No maintenance job found with identifier ${id}.`,
  );

/** Runs a function with a pool, after checking the permission to change it if the function changes it. */
function inPool({ fake, method }: FakeCall, id: string, use: (poolId: number) => Reply): Reply {
  const pool = poolOf(fake, id);
  if (pool === undefined) return poolMissing(id);
  return (method === 'GET' ? undefined : lockedPool(fake, pool)) ?? use(pool.id);
}

function withDefinition(
  call: FakeCall,
  poolId: string,
  id: unknown,
  use: (found: MaintenanceDefinition) => Reply,
): Reply {
  return inPool(call, poolId, (pool) => {
    const found = call.fake.state.maintenance.definitions.find(
      (each) => each.poolId === pool && each.id === Number(id),
    );
    return found === undefined ? definitionMissing(id) : use(found);
  });
}

function withJob(call: FakeCall, poolId: string, id: string, use: (found: MaintenanceJob) => Reply): Reply {
  return inPool(call, poolId, (pool) => {
    const found = call.fake.state.maintenance.jobs.find(
      (each) => each.poolId === pool && each.id === Number(id),
    );
    return found === undefined ? jobMissing(id) : use(found);
  });
}

function queueJob(call: FakeCall, poolId: string): Reply {
  const { fake, body, baseUrl } = call;
  const { definitionId } = body;
  const id = typeof definitionId === 'number' ? definitionId : textOf(body, 'definitionId');
  return withDefinition(call, poolId, id, (found) => {
    if (!found.enabled) {
      const message = `Maintenance is not enabled for pool ${poolOf(fake, poolId)?.name}.`;
      return refusal(400, 'TaskAgentPoolMaintenanceNotEnabledException', message);
    }
    const queued: MaintenanceJob = {
      id: nextId(fake),
      poolId: found.poolId,
      definitionId: found.id,
      orchestrationId: crypto.randomUUID(),
      queueTime: new Date(fake.now()).toISOString(),
      status: 'queued',
      agents: agentsIn(fake.state, found.poolId).map(({ id }) => id),
    };
    fake.state.maintenance.jobs.push(queued);
    fake.changed();
    return ok(describeJob(fake, baseUrl, queued));
  });
}

export const maintenanceRoutes: readonly Route[] = [
  [
    'GET',
    definitions,
    (call, poolId = '') =>
      inPool(call, poolId, (pool) => {
        const { fake } = call;
        const found = fake.state.maintenance.definitions.filter((each) => each.poolId === pool);
        return list(found.map((each) => describeDefinition(fake, each)));
      }),
  ],
  [
    'POST',
    definitions,
    (call, poolId = '') =>
      inPool(call, poolId, (pool) => {
        const { fake, body } = call;
        const made = definitionOf(fake, pool, body);
        fake.state.maintenance.definitions.push(made);
        fake.changed();
        return ok(describeDefinition(fake, made));
      }),
  ],
  [
    'GET',
    definition,
    (call, poolId = '', id = '') =>
      withDefinition(call, poolId, id, (found) => ok(describeDefinition(call.fake, found))),
  ],
  [
    'PUT',
    definition,
    (call, poolId = '', id = '') =>
      withDefinition(call, poolId, id, (found) => {
        const { fake, body } = call;
        Object.assign(found, definitionOf(fake, found.poolId, body, found));
        fake.changed();
        return ok(describeDefinition(fake, found));
      }),
  ],
  [
    'DELETE',
    definition,
    (call, poolId = '', id = '') =>
      withDefinition(call, poolId, id, (found) => {
        const { maintenance } = call.fake.state;
        maintenance.definitions = maintenance.definitions.filter((each) => each !== found);
        call.fake.changed();
        return empty;
      }),
  ],
  [
    'GET',
    jobs,
    (call, poolId = '') =>
      inPool(call, poolId, (pool) => {
        const { fake, query, baseUrl } = call;
        const desired = parameter(query, 'definitionId');
        const found = fake.state.maintenance.jobs.filter(
          (each) => each.poolId === pool && (desired === undefined || each.definitionId === Number(desired)),
        );
        return list(found.map((each) => describeJob(fake, baseUrl, each)));
      }),
  ],
  ['POST', jobs, (call, poolId = '') => queueJob(call, poolId)],
  [
    'GET',
    job,
    (call, poolId = '', id = '') =>
      withJob(call, poolId, id, (found) => ok(describeJob(call.fake, call.baseUrl, found))),
  ],
  [
    'PATCH',
    job,
    (call, poolId = '', id = '') =>
      withJob(call, poolId, id, (found) => {
        const { fake, body, baseUrl } = call;
        const cancelled = textOf(body, 'status').toLowerCase() === 'cancelling' || body['status'] === 4;
        if (cancelled) found.status = 'completed';
        fake.changed();
        return ok(describeJob(fake, baseUrl, found));
      }),
  ],
  [
    'DELETE',
    job,
    (call, poolId = '', id = '') =>
      withJob(call, poolId, id, (found) => {
        const { maintenance } = call.fake.state;
        maintenance.jobs = maintenance.jobs.filter((each) => each !== found);
        call.fake.changed();
        return empty;
      }),
  ],
];

/** Days of a schedule, one bit each. */
const days = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const everyDay = 127;

/** Returns `monday, friday`, as .NET writes flags. */
function describeDays(bits: number): string {
  if (bits === everyDay) return 'all';
  return days.filter((_, index) => (bits & (1 << index)) !== 0).join(', ') || 'none';
}

function poolReference(fake: Fake, poolId: number) {
  const pool = fake.state.pools.find(({ id }) => id === poolId);
  return pool === undefined ? {} : { pool: describePoolReference(fake, pool) };
}

function describeDefinition(fake: Fake, definition: MaintenanceDefinition) {
  const { schedule } = definition;
  return {
    id: definition.id,
    ...poolReference(fake, definition.poolId),
    enabled: definition.enabled,
    jobTimeoutInMinutes: definition.jobTimeoutInMinutes,
    maxConcurrentAgentsPercentage: definition.maxConcurrentAgentsPercentage,
    options: { workingDirectoryExpirationInDays: definition.workingDirectoryExpirationInDays },
    retentionPolicy: { numberOfHistoryRecordsToKeep: definition.numberOfHistoryRecordsToKeep },
    scheduleSetting: {
      scheduleJobId: schedule.jobId,
      startHours: schedule.startHours,
      startMinutes: schedule.startMinutes,
      daysToBuild: describeDays(schedule.days),
      timeZoneId: schedule.timeZoneId,
    },
  };
}

/** A job waits until it is canceled: agents here do no maintenance. */
function describeJob(fake: Fake, baseUrl: string, job: MaintenanceJob) {
  const result = job.status === 'completed' ? { result: 'canceled' } : {};
  return {
    jobId: job.id,
    ...poolReference(fake, job.poolId),
    definitionId: job.definitionId,
    orchestrationId: job.orchestrationId,
    requestedBy: describeIdentity(baseUrl, admin),
    queueTime: job.queueTime,
    status: job.status,
    ...result,
    errorCount: 0,
    warningCount: 0,
    targetAgents: job.agents.flatMap((id) => {
      const agent = agentOf(fake.state, id);
      if (agent === undefined) return [];
      const reference = describeAgentReference(baseUrl, agent, 'offline');
      return [{ jobId: job.id, agent: reference, status: job.status, ...result }];
    }),
  };
}

type Body = Readonly<Record<string, unknown>>;

const part = (body: Body, name: string) => Object(body[name]) as Body;

/** Returns a number of a body, limited to bounds. */
function numberIn(body: Body, name: string, fallback: number, most: number): number {
  const value = body[name];
  return typeof value === 'number' ? Math.min(Math.max(Math.trunc(value), 0), most) : fallback;
}

/** Parses `monday, friday`, `all`, or the bits themselves. */
function daysOf(given: unknown): number {
  if (typeof given === 'number') return Math.trunc(given) & everyDay;
  const names = typeof given === 'string' ? given.toLowerCase().split(/[\s,]+/u) : [];
  if (names.includes('all')) return everyDay;
  return days.reduce((bits, day, index) => (names.includes(day) ? bits | (1 << index) : bits), 0);
}

/** Reads a definition; absent members get the values that the pages of the service propose (not verified). */
function definitionOf(fake: Fake, poolId: number, body: Body, known?: MaintenanceDefinition) {
  const schedule = part(body, 'scheduleSetting');
  return {
    id: known?.id ?? nextId(fake),
    poolId,
    enabled: body['enabled'] === true,
    jobTimeoutInMinutes: numberIn(body, 'jobTimeoutInMinutes', 60, 10_000),
    maxConcurrentAgentsPercentage: numberIn(body, 'maxConcurrentAgentsPercentage', 25, 100),
    workingDirectoryExpirationInDays: numberIn(
      part(body, 'options'),
      'workingDirectoryExpirationInDays',
      30,
      10_000,
    ),
    numberOfHistoryRecordsToKeep: numberIn(
      part(body, 'retentionPolicy'),
      'numberOfHistoryRecordsToKeep',
      10,
      10_000,
    ),
    schedule: {
      days: daysOf(schedule['daysToBuild']),
      startHours: numberIn(schedule, 'startHours', 0, 23),
      startMinutes: numberIn(schedule, 'startMinutes', 0, 59),
      timeZoneId: typeof schedule['timeZoneId'] === 'string' ? schedule['timeZoneId'] : 'UTC',
      jobId: known?.schedule.jobId ?? crypto.randomUUID(),
    },
  } satisfies MaintenanceDefinition;
}
