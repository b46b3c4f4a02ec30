import { asRead, beforeWrite, nextId, type Fake } from '../world/fake.ts';
import { accessDenied, empty, list, ok, refusal, textOf, type Reply, type Route } from '../http/reply.ts';
import type { FakeQueue } from '../world/state.ts';

const key = (queue: { id: number }) => `queue ${queue.id}`;

function findProject(fake: Fake, name: string) {
  const wanted = decodeURIComponent(name).toLowerCase();
  return fake.state.projects.find(
    (project) => project.name.toLowerCase() === wanted || project.id === wanted,
  );
}

function projectMissing(name: string): Reply {
  const message = `TF200016: The following project does not exist: ${decodeURIComponent(name)}.`;
  return refusal(404, 'ProjectDoesNotExistWithNameException', message);
}

function describe(fake: Fake, queue: FakeQueue) {
  const pool = fake.state.pools.find(({ id }) => id === queue.poolId);
  return {
    id: queue.id,
    name: queue.name,
    projectId: queue.project,
    pool: { id: queue.poolId, name: pool?.name },
  };
}

function permission(queue: FakeQueue) {
  return {
    resource: { type: 'queue', id: String(queue.id) },
    ...(queue.authorized ? { allPipelines: { authorized: true } } : {}),
    pipelines: [],
  };
}

const queues = /^\/([^/]+)\/_apis\/distributedtask\/queues$/u;
const queue = /^\/([^/]+)\/_apis\/distributedtask\/queues\/(\d+)$/u;
const permissions = /^\/([^/]+)\/_apis\/pipelines\/pipelinepermissions\/queue\/(\d+)$/u;

function queueOf(fake: Fake, name: string, id: string): FakeQueue | Reply {
  const project = findProject(fake, name);
  if (project === undefined) return projectMissing(name);
  return (
    fake.state.queues.find((each) => each.project === project.id && each.id === Number(id)) ??
    refusal(404, 'TaskAgentQueueNotFoundException', `No agent queue found with identifier ${id}.`)
  );
}

export const projectRoutes: readonly Route[] = [
  [
    'GET',
    queues,
    ({ fake, query }, name = '') => {
      const project = findProject(fake, name);
      if (project === undefined) return projectMissing(name);
      const ids = (query.get('poolIds') ?? query.get('poolId'))?.split(',').map(Number);
      const queueName = query.get('queueName')?.toLowerCase();
      const found = fake.state.queues
        .map((each) => asRead(fake, key(each), each))
        .filter((each) => each !== undefined)
        .filter(
          (each) =>
            each.project === project.id &&
            (ids === undefined || ids.includes(each.poolId)) &&
            (queueName === undefined || each.name.toLowerCase() === queueName),
        );
      return list(found.map((each) => describe(fake, each)));
    },
  ],
  [
    'POST',
    queues,
    ({ fake, body, query }, name = '') => {
      const project = findProject(fake, name);
      if (project === undefined) return projectMissing(name);
      if (fake.denied.has('queues.create'))
        return accessDenied(`Create permissions for agent queues in ${project.name}`);
      const { id: poolId = 0 } = Object(body['pool']) as { id?: number };
      const pool = fake.state.pools.find(({ id }) => id === poolId);
      if (pool === undefined) {
        return refusal(
          404,
          'TaskAgentPoolNotFoundException',
          `No agent pool found with identifier ${poolId}.`,
        );
      }
      if (fake.state.queues.some((each) => each.project === project.id && each.poolId === pool.id)) {
        return refusal(409, 'TaskAgentQueueExistsException', `Queue ${pool.name} already exists.`);
      }
      const made: FakeQueue = {
        id: nextId(fake),
        project: project.id,
        poolId: pool.id,
        name: textOf(body, 'name') || pool.name,
        authorized: query.get('authorizePipelines') === 'true',
      };
      beforeWrite(fake, key(made), undefined);
      fake.state.queues.push(made);
      fake.changed();
      return ok(describe(fake, made));
    },
  ],
  [
    'GET',
    queue,
    ({ fake }, name = '', id = '') => {
      const found = queueOf(fake, name, id);
      return 'status' in found ? found : ok(describe(fake, found));
    },
  ],
  [
    'DELETE',
    queue,
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
    permissions,
    ({ fake }, name = '', id = '') => {
      const found = queueOf(fake, name, id);
      return 'status' in found ? found : ok(permission(found));
    },
  ],
  [
    'PATCH',
    permissions,
    ({ fake, body }, name = '', id = '') => {
      const found = queueOf(fake, name, id);
      if ('status' in found) return found;
      if (fake.denied.has('queues.authorize'))
        return accessDenied('Administer permissions for the agent queue');
      const { authorized } = Object(body['allPipelines']) as { authorized?: boolean };
      if (authorized !== undefined) found.authorized = authorized;
      fake.changed();
      return ok(permission(found));
    },
  ],
];
