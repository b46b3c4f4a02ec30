import {
  actionFilters,
  badRequest,
  idsOf,
  invalidArgument,
  nameIn,
  nameRefusal,
  namesOf,
  parameter,
  poolTypes,
} from '../http/arguments.ts';
import {
  type FakeCall,
  type Reply,
  type Route,
  accessDenied,
  empty,
  list,
  ok,
  refusal,
  textOf,
} from '../http/reply.ts';
import { chosenProperties, describeIdentity, propertiesOf } from '../shapes.ts';
import { agentsIn, poolSize } from '../world/agent-index.ts';
import { type Fake, asRead, beforeWrite, nextId } from '../world/fake.ts';
import { admin, service } from '../world/identities.ts';
import { firstQueues, newPool } from '../world/new-organization.ts';
import { finish } from '../world/queue.ts';
import { endSession, sessionOf } from '../world/scheduler.ts';
import type { FakePool } from '../world/state.ts';

export function poolMissing(id: string | number) {
  return refusal(404, 'TaskAgentPoolNotFoundException', `No agent pool found with identifier ${id}.`);
}

export function poolOf(fake: Fake, id: string | number): FakePool | undefined {
  return fake.state.pools.find((pool) => pool.id === Number(id));
}

/** Returns why the caller may not change a pool; undefined: it may. That no caller may change the hosted pool is not verified. */
export function lockedPool(fake: Fake, pool: FakePool): Reply | undefined {
  return pool.isHosted || fake.denied.has('pools.manage')
    ? accessDenied(`Manage permissions for pool ${pool.name} to perform the action`)
    : undefined;
}

const nameRule = { parameter: 'pool.Name', what: 'Pool', longest: 128 };
const key = (pool: { id: number }) => `pool ${pool.id}`;

/** The service lists pools of one type: by default those for jobs. */
function findPools({ fake, query }: FakeCall): readonly FakePool[] | Reply {
  const name = parameter(query, 'poolName')?.toLowerCase();
  const ids = idsOf(query, 'poolIds');
  const type = nameIn(poolTypes, parameter(query, 'poolType') ?? 'automation');
  const action = nameIn(actionFilters, parameter(query, 'actionFilter') ?? 'none');
  if (type === undefined || action === undefined) return badRequest;
  return fake.state.pools
    .map((pool) => asRead(fake, key(pool), pool))
    .filter((pool) => pool !== undefined)
    .filter(
      (pool) =>
        (ids === undefined ? pool.poolType === type : ids.has(pool.id)) &&
        (name === undefined || pool.name.toLowerCase() === name) &&
        (action !== 'manage' || lockedPool(fake, pool) === undefined),
    );
}

function addPool({ fake, body, baseUrl }: FakeCall): Reply {
  const refused = nameRefusal(body['name'], nameRule);
  if (refused !== undefined) return refused;
  const poolType = nameIn(poolTypes, body['poolType'] ?? 'automation');
  if (poolType === undefined) return badRequest;
  const deployment = poolType === 'deployment';
  if (deployment && (body['isHosted'] === true || body['autoProvision'] === true)) {
    const what = body['isHosted'] === true ? 'be hosted' : 'provision queues automatically';
    return refusal(400, 'InvalidTaskAgentPoolException', `Deployment pools cannot ${what}.`);
  }
  if (fake.denied.has('pools.create')) return accessDenied('Create permissions for agent pools');
  if (body['isHosted'] === true) return accessDenied('Manage permissions for hosted pools');
  const name = textOf(body, 'name').trim();
  if (isTaken(fake, name)) return poolExists(name);
  const pool: FakePool = {
    ...newPool(nextId(fake), name, fake.now()),
    poolType,
    // The service ignores autoUpdate here; only PATCH sets it.
    autoProvision: body['autoProvision'] === true,
    properties: propertiesOf(body['properties']),
  };
  makePool(fake, pool);
  return ok(describePool(fake, baseUrl, pool));
}

/** Adds a new pool; one that provisions itself gets a queue in every project. */
export function makePool(fake: Fake, pool: FakePool): void {
  beforeWrite(fake, key(pool), undefined);
  fake.state.pools.push(pool);
  for (const project of fake.state.projects) {
    fake.state.queues.push(...firstQueues([pool], project, () => nextId(fake)));
  }
  fake.changed();
}

export function isTaken(fake: Fake, name: string, but?: FakePool): boolean {
  return fake.state.pools.some((pool) => pool !== but && pool.name.toLowerCase() === name.toLowerCase());
}

export const poolExists = (name: string) =>
  refusal(409, 'TaskAgentPoolExistsException', `Agent pool ${name} already exists.`);

function changePool({ fake, body, baseUrl }: FakeCall, id: string): Reply {
  const pool = poolOf(fake, id);
  if (pool === undefined) return poolMissing(id);
  const locked = lockedPool(fake, pool);
  if (locked !== undefined) return locked;
  const { name, autoUpdate, autoProvision, targetSize, properties } = body;
  if (typeof name === 'string' && name !== '') {
    const refused = nameRefusal(name, nameRule);
    if (refused !== undefined) return refused;
    if (isTaken(fake, name.trim(), pool)) return poolExists(name.trim());
  }
  if (pool.poolType === 'deployment' && autoProvision === true) {
    return invalidArgument('Deployment pools cannot provision queues automatically.', 'pool.AutoProvision');
  }
  beforeWrite(fake, key(pool), pool);
  if (typeof name === 'string' && name !== '') pool.name = name.trim();
  if (typeof autoUpdate === 'boolean') pool.autoUpdate = autoUpdate;
  if (typeof autoProvision === 'boolean') pool.autoProvision = autoProvision;
  if (typeof targetSize === 'number') pool.targetSize = targetSize;
  Object.assign(pool.properties, propertiesOf(properties));
  fake.changed();
  return ok(describePool(fake, baseUrl, pool));
}

/** Deletes a pool with its agents and jobs, as the service does; queues that used it stay without a pool. */
function deletePool({ fake }: FakeCall, id: string): Reply {
  const pool = poolOf(fake, id);
  if (pool === undefined) return empty;
  const locked = lockedPool(fake, pool);
  if (locked !== undefined) return locked;
  const gone = new Set(agentsIn(fake.state, pool.id));
  for (const agent of gone) {
    const session = sessionOf(fake, agent.id);
    if (session !== undefined) endSession(fake, session);
  }
  for (const request of fake.state.requests) {
    if (request.poolId === pool.id && request.result === undefined) finish(fake, request, 'canceled');
  }
  fake.state.pools = fake.state.pools.filter((each) => each !== pool);
  fake.state.agents = fake.state.agents.filter((agent) => !gone.has(agent));
  fake.changed();
  return empty;
}

const all = /^\/_apis\/distributedtask\/pools$/iu;
const one = /^\/_apis\/distributedtask\/pools\/(\d+)$/iu;

export const poolRoutes: readonly Route[] = [
  [
    'GET',
    all,
    (call) => {
      const { fake, query, baseUrl } = call;
      const found = findPools(call);
      if ('status' in found) return found;
      return list(found.map((pool) => describePool(fake, baseUrl, pool, namesOf(query, 'properties'))));
    },
  ],
  ['POST', all, addPool],
  [
    'GET',
    one,
    ({ fake, query, baseUrl }, id = '') => {
      const pool = poolOf(fake, id);
      const seen = pool && asRead(fake, key(pool), pool);
      if (seen === undefined) return poolMissing(id);
      return ok(describeOnePool(fake, baseUrl, seen, namesOf(query, 'properties')));
    },
  ],
  ['PATCH', one, (call, id = '') => changePool(call, id)],
  ['DELETE', one, (call, id = '') => deletePool(call, id)],
];

/** Returns a pool as queues show theirs. */
export function describePoolReference(fake: Fake, pool: FakePool) {
  return {
    id: pool.id,
    scope: fake.state.collectionId,
    name: pool.name,
    isHosted: pool.isHosted,
    poolType: pool.poolType,
    size: poolSize(fake.state, pool.id),
    isLegacy: pool.isLegacy,
    options: 'none',
  };
}

/** Returns a pool in a list. Members and their order as recorded; `properties` only if a filter requests them. */
function describePool(fake: Fake, baseUrl: string, pool: FakePool, filters?: readonly string[]) {
  const owner = describeIdentity(baseUrl, pool.builtIn ? service : admin);
  return {
    createdOn: pool.createdOn,
    autoProvision: pool.autoProvision,
    autoUpdate: pool.autoUpdate,
    autoSize: true as boolean | null,
    targetSize: pool.targetSize,
    agentCloudId: pool.agentCloudId,
    createdBy: owner,
    owner,
    ...chosenProperties(pool.properties, filters),
    ...describePoolReference(fake, pool),
  };
}

/** Returns a pool that is requested by its id: recorded with autoSize null, while the list has true. */
function describeOnePool(fake: Fake, baseUrl: string, pool: FakePool, filters?: readonly string[]) {
  return { ...describePool(fake, baseUrl, pool, filters), autoSize: null };
}
