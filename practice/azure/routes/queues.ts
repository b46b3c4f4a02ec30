import {
  actionFilters,
  badRequest,
  flag,
  idsOf,
  nameIn,
  nameRefusal,
  namesOf,
  parameter,
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
import { describeIdentity } from '../shapes.ts';
import { type Fake, asRead, beforeWrite, nextId } from '../world/fake.ts';
import { admin } from '../world/identities.ts';
import { newPool } from '../world/new-organization.ts';
import type { FakePool, FakeProject, FakeQueue } from '../world/state.ts';
import { describePoolReference, isTaken, makePool, poolExists, poolMissing, poolOf } from './pools.ts';
import { findProject, projectMissing } from './projects.ts';
import { pageOf } from './requests.ts';

const key = (queue: { id: number }) => `queue ${queue.id}`;
const nameRule = { parameter: 'queue.Name', what: 'Queue', longest: 128 };

export function queueOf(fake: Fake, name: string, id: string): FakeQueue | Reply {
  const project = findProject(fake, name);
  if (project === undefined) return projectMissing(name);
  return (
    fake.state.queues.find((each) => each.project === project.id && each.id === Number(id)) ??
    refusal(404, 'TaskAgentQueueNotFoundException', `No agent queue found with identifier ${id}.`)
  );
}

function findQueues({ fake, query }: FakeCall, project: FakeProject): readonly FakeQueue[] | Reply {
  const names = (namesOf(query, 'queueNames') ?? wholeName(query))?.map((name) => name.toLowerCase());
  const pools = idsOf(query, 'poolIds') ?? idsOf(query, 'poolId');
  const ids = idsOf(query, 'queueIds');
  const action = nameIn(actionFilters, parameter(query, 'actionFilter') ?? 'none');
  if (action === undefined) return badRequest;
  return fake.state.queues
    .map((each) => asRead(fake, key(each), each))
    .filter((each) => each !== undefined)
    .filter(
      (each) =>
        each.project === project.id &&
        (pools === undefined || pools.has(each.poolId)) &&
        (ids === undefined || ids.has(each.id)) &&
        (names === undefined || names.includes(each.name.toLowerCase())) &&
        (action !== 'manage' || !fake.denied.has('queues.create')),
    );
}

/** One name may contain a comma. */
function wholeName(query: URLSearchParams): readonly string[] | undefined {
  const name = parameter(query, 'queueName');
  return name === undefined ? undefined : [name];
}

/** Returns the pool of a queue, by its name if it has none; undefined: the pool must be created. */
function poolFor({ fake, body }: FakeCall): FakePool | Reply | undefined {
  const { id } = Object(body['pool']) as { id?: number };
  if (id !== undefined) {
    const pool = poolOf(fake, id);
    if (pool === undefined) return poolMissing(id);
    const message = 'Agent queues can only be made for automation pools.';
    return pool.poolType === 'automation'
      ? pool
      : refusal(400, 'TaskAgentPoolTypeMismatchException', message);
  }
  const name = textOf(body, 'name').trim().toLowerCase();
  return fake.state.pools.find((pool) => pool.poolType === 'automation' && pool.name.toLowerCase() === name);
}

/** A deployment pool may have the name. */
function newPoolFor(fake: Fake, name: string): FakePool | Reply {
  if (fake.denied.has('pools.create')) return accessDenied('Create permissions for agent pools');
  if (isTaken(fake, name)) return poolExists(name);
  const made = newPool(nextId(fake), name, fake.now());
  makePool(fake, made);
  return made;
}

function addQueue(call: FakeCall, name: string): Reply {
  const { fake, body, query } = call;
  const project = findProject(fake, name);
  if (project === undefined) return projectMissing(name);
  const pooled = Object(body['pool']) as { id?: number };
  // With a pool the name may be omitted, and is the pool's then.
  const refused = pooled.id === undefined || body['name'] ? nameRefusal(body['name'], nameRule) : undefined;
  if (refused !== undefined) return refused;
  if (fake.denied.has('queues.create')) {
    return accessDenied(`Create permissions for agent queues in ${project.name}`);
  }
  const known = poolFor(call);
  if (known !== undefined && 'status' in known) return known;
  const title = textOf(body, 'name').trim() || (known?.name ?? '');
  const taken = fake.state.queues.some(
    (each) =>
      each.project === project.id &&
      (each.poolId === known?.id || each.name.toLowerCase() === title.toLowerCase()),
  );
  if (taken) return refusal(409, 'TaskAgentQueueExistsException', `Queue ${title} already exists.`);
  const pool = known ?? newPoolFor(fake, title);
  if ('status' in pool) return pool;
  const made: FakeQueue = {
    id: nextId(fake),
    project: project.id,
    poolId: pool.id,
    name: title,
    pipelines: [],
    ...(flag(query, 'authorizePipelines') || pool.properties['System.AutoAuthorize']?.$value === true
      ? { openSince: new Date(fake.now()).toISOString() }
      : {}),
  };
  beforeWrite(fake, key(made), undefined);
  fake.state.queues.push(made);
  fake.changed();
  return ok(describeQueue(fake, made));
}

const all = /^\/([^/]+)\/_apis\/distributedtask\/queues$/iu;
const one = /^\/([^/]+)\/_apis\/distributedtask\/queues\/(\d+)$/iu;

export const queueRoutes: readonly Route[] = [
  [
    'GET',
    all,
    (call, name = '') => {
      const project = findProject(call.fake, name);
      if (project === undefined) return projectMissing(name);
      const found = findQueues(call, project);
      return 'status' in found ? found : list(found.map((each) => describeQueue(call.fake, each)));
    },
  ],
  ['POST', all, (call, name = '') => addQueue(call, name)],
  [
    'GET',
    one,
    ({ fake }, name = '', id = '') => {
      const found = queueOf(fake, name, id);
      return 'status' in found ? found : ok(describeQueue(fake, found));
    },
  ],
  [
    'DELETE',
    one,
    ({ fake }, name = '', id = '') => {
      const found = queueOf(fake, name, id);
      if ('status' in found) return found;
      fake.state.queues = fake.state.queues.filter((each) => each !== found);
      fake.changed();
      return empty;
    },
  ],
  [
    'GET',
    /^\/([^/]+)\/_apis\/distributedtask\/queues\/(\d+)\/agentrequests$/iu,
    (call, name = '', id = '') => {
      const { fake } = call;
      const found = queueOf(fake, name, id);
      if ('status' in found) return found;
      const project = findProject(fake, name)?.name.toLowerCase();
      const ofQueue = fake.state.requests.filter(
        (request) => request.poolId === found.poolId && request.project.toLowerCase() === project,
      );
      return pageOf(call, ofQueue);
    },
  ],
];

/** Returns a queue with its full pool. The pool of an old queue may be deleted. */
function describeQueue(fake: Fake, queue: FakeQueue) {
  const pool = fake.state.pools.find(({ id }) => id === queue.poolId);
  return {
    id: queue.id,
    projectId: queue.project,
    name: queue.name,
    ...(pool === undefined ? {} : { pool: describePoolReference(fake, pool) }),
  };
}

/** Returns which pipelines may use a queue, who permitted it, and when. */
export function describePermissions(baseUrl: string, { id, openSince, pipelines }: FakeQueue) {
  const permitted = (authorizedOn: string) => ({
    authorized: true,
    authorizedBy: describeIdentity(baseUrl, admin),
    authorizedOn,
  });
  return {
    resource: { type: 'queue', id: String(id) },
    ...(openSince === undefined ? {} : { allPipelines: permitted(openSince) }),
    pipelines: pipelines.map((each) => ({ id: each.id, ...permitted(each.authorizedOn) })),
  };
}
