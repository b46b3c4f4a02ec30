import { parameter } from '../http/query.ts';
import { empty, list, ok, refusal, textOf, type FakeCall, type Reply, type Route } from '../http/reply.ts';
import { describeDefinition, describeJob } from '../shapes/maintenance.ts';
import { agentsIn } from '../world/agent-index.ts';
import { nextId } from '../world/fake.ts';
import type { MaintenanceDefinition, MaintenanceJob } from '../world/state.ts';
import { definitionOf } from './maintenance-body.ts';
import { lockedPool, poolMissing, poolOf } from './pools.ts';

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

/** Runs what needs a pool, and the right to change it where it changes something. */
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
        const wanted = parameter(query, 'definitionId');
        const found = fake.state.maintenance.jobs.filter(
          (each) => each.poolId === pool && (wanted === undefined || each.definitionId === Number(wanted)),
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
