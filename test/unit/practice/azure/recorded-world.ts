import {
  emptyState,
  hostedAgent,
  newPool,
  newProject,
} from '../../../../practice/azure/world/new-organization.ts';
import type { FakePool, FakeProject, FakeQueue, State } from '../../../../practice/azure/world/state.ts';
import { recordings } from './recordings.ts';

/** Bodies of the recorded answers to requests whose URL ends so. */
function answered(end: RegExp): readonly unknown[] {
  return recordings.filter(({ url, status }) => end.test(url) && status === 200).map(({ body }) => body);
}

type Listed<T> = { readonly value: readonly T[] };
type RecordedQueue = {
  id: number;
  projectId: string;
  name: string;
  pool: { id: number; name: string; isHosted: boolean; isLegacy: boolean; size: number };
};
type RecordedAgent = { id: number; createdOn: string; authorization: { clientId: string } };
type RecordedProject = {
  id: string;
  name: string;
  description?: string;
  revision: number;
  visibility: FakeProject['visibility'];
  lastUpdateTime: string;
  defaultTeam?: { id: string };
};

/** The organisation as it was when the answers were recorded, as far as they tell. */
export function recordedWorld(): State {
  const lists = answered(/\/queues$/u) as readonly Listed<RecordedQueue>[];
  const [pool] = answered(/\/pools\/2$/u) as readonly FakePool[];
  const [agent] = answered(/\/agents\/1$/u) as readonly RecordedAgent[];
  const [collection] = answered(/\/ConnectionData$/u) as readonly { instanceId: string }[];
  if (pool === undefined || agent === undefined || collection === undefined) throw new Error('not recorded');
  return {
    ...emptyState([], 0),
    collectionId: collection.instanceId,
    nextId: 10_000,
    pools: poolsOf(lists[0]?.value ?? [], pool.createdOn),
    agents: hostedAgents(lists[0]?.value ?? []).map((each) =>
      each.id === agent.id
        ? { ...each, createdOn: agent.createdOn, clientId: agent.authorization.clientId, version: '3.220.5' }
        : each,
    ),
    projects: projectsRecorded(),
    queues: lists.flatMap(({ value }) => value.map(queueOf)),
  };
}

function poolsOf(queues: readonly RecordedQueue[], createdOn: string): FakePool[] {
  return queues.map(({ pool: { id, name, isHosted, isLegacy } }) => ({
    ...newPool(id, name, 0),
    createdOn,
    isHosted,
    isLegacy,
    autoProvision: true,
    builtIn: true,
    ...(isHosted ? { agentCloudId: 1, targetSize: 1 } : {}),
  }));
}

/** Each pool of the service's own machines has one agent; the recorded one is the second pool's. */
function hostedAgents(queues: readonly RecordedQueue[]) {
  return queues
    .filter(({ pool }) => pool.size > 0)
    .map(({ pool }, index) => ({ ...hostedAgent(0), id: index + 1, poolId: pool.id }));
}

function queueOf({ id, projectId, name, pool }: RecordedQueue): FakeQueue {
  return { id, project: projectId, name, poolId: pool.id, pipelines: [] };
}

/** Projects that were listed or read; those that only a path names have the Guid of their queues, or of their deletion. */
function projectsRecorded(): FakeProject[] {
  const listed = answered(/\/projects\?stateFilter=all$/u) as readonly Listed<RecordedProject>[];
  const read = answered(/\/projects\/[^/]+$/u) as readonly RecordedProject[];
  const behindQueues = recordings.flatMap(({ url, body }) => {
    const [, name] = /contoso-lab\/([^/_]+)\/_apis\/distributedtask\/queues$/u.exec(url) ?? [];
    const id = (body as Listed<RecordedQueue>).value?.[0]?.projectId;
    return name === undefined || id === undefined ? [] : [{ ...newProject(name, 0), id }];
  });
  const known = (each: RecordedProject): FakeProject => ({
    ...newProject(each.name, 0),
    ...(each.description === undefined ? {} : { description: each.description }),
    id: each.id,
    revision: each.revision,
    visibility: each.visibility,
    lastUpdateTime: each.lastUpdateTime,
    ...(each.defaultTeam === undefined ? {} : { teamId: each.defaultTeam.id }),
  });
  return [...[...listed.flatMap(({ value }) => value), ...read].map(known), ...behindQueues];
}
