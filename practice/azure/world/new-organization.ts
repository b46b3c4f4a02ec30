import type { FakeAgent, FakePool, FakeProject, FakeQueue, State } from './state.ts';

export function newPool(id: number, name: string, now: number): FakePool {
  return {
    id,
    name,
    poolType: 'automation',
    isHosted: false,
    isLegacy: false,
    autoUpdate: true,
    autoProvision: false,
    agentCloudId: null,
    // Only a pool of the service's own machines has one (recorded there; null recorded for a pool of 2024).
    targetSize: null,
    createdOn: new Date(now).toISOString(),
    builtIn: false,
    properties: {},
  };
}

export function newProject(name: string, now: number): FakeProject {
  return {
    id: crypto.randomUUID(),
    name,
    visibility: 'private',
    revision: 1,
    lastUpdateTime: new Date(now).toISOString(),
    teamId: crypto.randomUUID(),
    processTemplate: processes[0].id,
  };
}

/** A project has every pool that provisions itself from the beginning (recorded: a new project has them all). */
export function firstQueues(pools: readonly FakePool[], project: FakeProject, id: () => number): FakeQueue[] {
  return pools
    .filter(({ autoProvision, poolType }) => autoProvision && poolType === 'automation')
    .map((pool) => ({ id: id(), project: project.id, poolId: pool.id, name: pool.name, pipelines: [] }));
}

/** The service's own machines: one agent that is never online. */
export function hostedAgent(now: number): FakeAgent {
  return {
    id: 1,
    poolId: 2,
    name: 'Hosted Agent',
    version: '4.275.0',
    osDescription: '',
    enabled: true,
    maxParallelism: 1,
    provisioningState: 'Deallocated',
    createdOn: new Date(now).toISOString(),
    systemCapabilities: {},
    userCapabilities: {},
    properties: {},
    clientId: crypto.randomUUID(),
    baseUrl: '',
    revoked: false,
  };
}

/** The initial state of every organisation. */
export function emptyState(names: readonly string[], now: number): State {
  const builtIn = { builtIn: true, autoProvision: true };
  const pools: FakePool[] = [
    { ...newPool(1, 'Default', now), ...builtIn },
    { ...newPool(2, 'Azure Pipelines', now), ...builtIn, isHosted: true, agentCloudId: 1, targetSize: 1 },
  ];
  const projects = names.map((name) => newProject(name, now));
  let nextId = 10;
  const id = () => {
    nextId += 1;
    return nextId;
  };
  const queues = projects.flatMap((project) => firstQueues(pools, project, id));
  return {
    collectionId: crypto.randomUUID(),
    pools,
    projects,
    queues,
    nextId,
    agents: [hostedAgent(now)],
    operations: [],
    maintenance: { definitions: [], jobs: [] },
    parallelJobs: null,
    sessions: [],
    requests: [],
    builds: [],
    accessTokens: {},
  };
}

/** The processes that work items of projects can follow, by the service's Guids (Basic's is recorded). The first is the default. */
export const processes = [
  { id: 'b8a3a935-7e91-48b8-a94c-606d37c3e9f2', name: 'Basic' },
  { id: 'adcc42ab-9882-485e-a3ed-7678f01f66bc', name: 'Agile' },
  { id: '6b724908-ef14-45cf-84f8-768b5384da45', name: 'Scrum' },
  { id: '27450541-8e31-4150-9947-dc59f998fc01', name: 'CMMI' },
] as const;
