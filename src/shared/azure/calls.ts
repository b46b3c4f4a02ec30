import { defined, isObject } from '../base/objects.ts';
import { Capabilities } from '../contract/paths.ts';
import type { AgentQuery, AzureAgent, JobRequest, NewAgent, OneAgentQuery, Pool } from './client.ts';
import type { Call } from './http/rest.ts';

const manage =
  'give the token the scope "Agent Pools (Read & manage)" and its user the Administrator role of the pool (Organization settings > Agent pools > Security)';
const createPools =
  'give the token the scope "Agent Pools (Read & manage)" and its user the Administrator role for all pools (Organization settings > Agent pools > Security), or create the pool by hand';
const queues =
  'make the user of the token Administrator of agent pools in the project (Project settings > Agent pools > Security)';
const permissions =
  'give the token the scope "Pipeline Resources (Use and manage)", or permit the pool for all pipelines by hand (Project settings > Agent pools > the pool > Security)';
const builds =
  'give the token the scope "Build (Read & execute)", and its user the permission to queue builds of the pipeline';
const readBuilds =
  'give the token the scope "Build (Read)", and its user the permission to view builds of the project';
const limits = 'look in the browser: Organization settings > Parallel jobs';

const root = '/_apis/distributedtask';
/** Parameters for every detail of one agent; lists of agents request fewer. */
const include = {
  includeCapabilities: true,
  includeAssignedRequest: true,
  includeLastCompletedRequest: true,
};

const agents = (poolId: number) => `${root}/pools/${poolId}/agents`;
const inProject = (project: string) => `/${encodeURIComponent(project)}`;

/** Every request to Azure DevOps, as data. */
export const calls = {
  listPools: (name?: string): Call => ({
    method: 'GET',
    path: `${root}/pools`,
    ...(name === undefined ? {} : { query: { poolName: name } }),
    what: name === undefined ? 'list the agent pools' : `look up agent pool ${name}`,
    permission: 'give the token the scope "Agent Pools (Read & manage)"',
  }),
  managedPools: (): Call => ({
    method: 'GET',
    path: `${root}/pools`,
    query: { actionFilter: 'manage' },
    what: 'list the agent pools that may be changed',
    permission: 'give the token the scope "Agent Pools (Read & manage)"',
  }),
  listProjects: (most: number): Call => ({
    method: 'GET',
    path: '/_apis/projects',
    query: { $top: most },
    what: 'list the projects',
    permission: 'give the token the scope "Project and Team (Read)", or type the names of projects',
  }),
  createPool: (name: string): Call => ({
    method: 'POST',
    path: `${root}/pools`,
    body: { name, autoProvision: false, autoUpdate: false, poolType: 'automation', isHosted: false },
    what: `create agent pool ${name}`,
    permission: createPools,
  }),
  setAutoUpdate: (poolId: number, autoUpdate: boolean): Call => ({
    method: 'PATCH',
    path: `${root}/pools/${poolId}`,
    body: { autoUpdate },
    what: `turn ${autoUpdate ? 'on' : 'off'} automatic agent updates in pool ${poolId}`,
    permission: manage,
  }),
  listAgents: (poolId: number, query: AgentQuery): Call => ({
    method: 'GET',
    path: agents(poolId),
    query: {
      ...(query.capabilities === false ? {} : { includeCapabilities: true }),
      includeAssignedRequest: true,
      ...(query.lastCompleted === true ? { includeLastCompletedRequest: true } : {}),
      ...(query.owner === undefined ? {} : { demands: `${Capabilities.owner} -equals ${query.owner}` }),
    },
    ...defined({ agents: query.count }),
    what: `list the agents of pool ${poolId}`,
    permission: manage,
  }),
  findAgent: (poolId: number, agentName: string, { capabilities = true }: OneAgentQuery = {}): Call => ({
    method: 'GET',
    path: agents(poolId),
    query: { ...include, includeCapabilities: capabilities, agentName },
    agents: 1,
    what: `look up agent ${agentName} of pool ${poolId}`,
    permission: manage,
  }),
  getAgent: (poolId: number, agentId: number): Call => ({
    method: 'GET',
    path: `${agents(poolId)}/${agentId}`,
    query: include,
    agents: 1,
    what: `read agent ${agentId} of pool ${poolId}`,
    permission: manage,
  }),
  createAgent: (poolId: number, agent: NewAgent): Call => ({
    method: 'POST',
    path: agents(poolId),
    agents: 1,
    body: registration(agent),
    what: `register agent ${agent.name}`,
    permission: manage,
  }),
  replaceAgent: (poolId: number, agentId: number, agent: NewAgent): Call => ({
    method: 'PUT',
    path: `${agents(poolId)}/${agentId}`,
    agents: 1,
    body: { id: agentId, ...registration(agent) },
    what: `register agent ${agent.name} again`,
    permission: manage,
  }),
  setEnabled: (poolId: number, agentId: number, enabled: boolean): Call => ({
    method: 'PATCH',
    path: `${agents(poolId)}/${agentId}`,
    agents: 1,
    body: { id: agentId, enabled },
    what: `${enabled ? 'enable' : 'disable'} agent ${agentId}`,
    permission: manage,
  }),
  setUserCapabilities: (poolId: number, agentId: number, body: Readonly<Record<string, string>>): Call => ({
    method: 'PUT',
    path: `${agents(poolId)}/${agentId}/usercapabilities`,
    body,
    what: `set the capabilities of agent ${agentId}`,
    permission: manage,
  }),
  deleteAgent: (poolId: number, agentId: number): Call => ({
    method: 'DELETE',
    path: `${agents(poolId)}/${agentId}`,
    what: `remove agent ${agentId} from pool ${poolId}`,
    permission: manage,
  }),
  /** `completedRequestCount=0` keeps the complete form of each request; paging drops matchedAgents. */
  unfinishedRequests: (poolId: number): Call => ({
    method: 'GET',
    path: `${root}/pools/${poolId}/jobrequests`,
    query: { completedRequestCount: 0 },
    what: `read the queue of pool ${poolId}`,
    permission: manage,
  }),
  /** With this many finished ones: a job that no agent can run has finished at once. */
  recentRequests: (poolId: number, finished: number): Call => ({
    method: 'GET',
    path: `${root}/pools/${poolId}/jobrequests`,
    query: { completedRequestCount: finished },
    what: `read the queue of pool ${poolId}`,
    permission: manage,
  }),
  getRequest: (poolId: number, requestId: number): Call => ({
    method: 'GET',
    path: `${root}/pools/${poolId}/jobrequests/${requestId}`,
    what: `read job request ${requestId}`,
    permission: manage,
  }),
  listQueues: (project: string): Call => ({
    method: 'GET',
    path: `${inProject(project)}${root}/queues`,
    what: `list the agent pools of project ${project}`,
    permission: queues,
  }),
  createQueue: (project: string, pool: { readonly id: number; readonly name: string }): Call => ({
    method: 'POST',
    path: `${inProject(project)}${root}/queues`,
    query: { authorizePipelines: false },
    body: { name: pool.name, pool: { id: pool.id } },
    what: `make pool ${pool.name} known in project ${project}`,
    permission: queues,
  }),
  runPipeline: (project: string, pipeline: number): Call => ({
    method: 'POST',
    path: `${inProject(project)}/_apis/pipelines/${pipeline}/runs`,
    body: {},
    what: `run pipeline ${pipeline} of project ${project}`,
    permission: builds,
  }),
  readRun: (project: string, pipeline: number, run: number): Call => ({
    method: 'GET',
    path: `${inProject(project)}/_apis/pipelines/${pipeline}/runs/${run}`,
    what: `read run ${run} of pipeline ${pipeline}`,
    permission: builds,
  }),
  readBuild: (project: string, build: number): Call => ({
    method: 'GET',
    path: `${inProject(project)}/_apis/build/builds/${build}`,
    what: `read build ${build} of project ${project}`,
    permission: readBuilds,
  }),
  readTimeline: (project: string, build: number): Call => ({
    method: 'GET',
    path: `${inProject(project)}/_apis/build/builds/${build}/timeline`,
    what: `read the timeline of build ${build}`,
    permission: readBuilds,
  }),
  resourceUsage: (): Call => ({
    method: 'GET',
    path: `${root}/resourceusage`,
    query: { parallelismTag: 'Private', poolIsHosted: false },
    apiVersion: '7.1-preview.2',
    what: 'read how many jobs may run at once',
    permission: limits,
  }),
  newestAgent: (platform: string): Call => ({
    method: 'GET',
    path: `${root}/packages/agent`,
    query: { platform, $top: 1 },
    what: 'read which agent the server offers',
    permission: manage,
  }),
  resourceLimits: (): Call => ({
    method: 'GET',
    path: `${root}/resourcelimits`,
    apiVersion: '7.1-preview.1',
    what: 'read how many jobs may run at once',
    permission: limits,
  }),
  readPermission: (project: string, queueId: number): Call => ({
    ...permission(project, queueId),
    method: 'GET',
    what: `read which pipelines of project ${project} may use the pool`,
  }),
  authorizeQueue: (project: string, queueId: number): Call => ({
    ...permission(project, queueId),
    method: 'PATCH',
    body: { allPipelines: { authorized: true } },
    what: `permit the pipelines of project ${project} to use the pool`,
  }),
};

function permission(project: string, queueId: number) {
  return {
    path: `${inProject(project)}/_apis/pipelines/pipelinepermissions/queue/${queueId}`,
    apiVersion: '7.1-preview.1',
    permission: permissions,
  };
}

/** Returns the body that config.sh sends: one job at a time, enabled by default, and the public half of the key. */
function registration({ publicKey, ...agent }: NewAgent) {
  return {
    ...agent,
    maxParallelism: 1,
    enabled: agent.enabled ?? true,
    provisioningState: 'Provisioned',
    authorization: { publicKey },
  };
}

/** A queue of a project: the project's entry for a pool. */
export interface Queue {
  readonly id: number;
  readonly pool?: { readonly id: number };
}

type Item = Readonly<Record<string, unknown>>;
/** Returns a member that has its declared type, otherwise undefined. */
type Read = (value: unknown) => unknown;

const flag: Read = (value) => (typeof value === 'boolean' ? value : undefined);
const number: Read = (value) => (typeof value === 'number' ? value : undefined);
const text: Read = (value) => (typeof value === 'string' ? value : undefined);
const texts: Read = (value) =>
  Array.isArray(value) ? value.filter((item) => text(item) !== undefined) : undefined;
const object: Read = (value) => (isObject(value) ? value : undefined);
const byName =
  (read: Read): Read =>
  (value) =>
    isObject(value)
      ? Object.fromEntries(Object.entries(value).filter(([, item]) => read(item) !== undefined))
      : undefined;
const listOf =
  (read: Read): Read =>
  (value) =>
    Array.isArray(value) ? value.map(read).filter((item) => item !== undefined) : undefined;

const named: Read = (value) => (isNamed(value) ? value : undefined);
const address: Read = (value) => (isObject(value) && typeof value['href'] === 'string' ? value : undefined);
const owner = members({ _links: members({ web: address }) });

const asPool = members({ autoUpdate: flag, isHosted: flag, size: number });
const asAgent = members({
  version: text,
  enabled: flag,
  status: text,
  statusChangedOn: text,
  systemCapabilities: byName(text),
  userCapabilities: byName(text),
  pendingUpdate: object,
  authorization: members({ clientId: text, authorizationUrl: text }),
  properties: byName(object),
});
const asRequest = members({
  jobName: text,
  queueTime: text,
  assignTime: text,
  receiveTime: text,
  finishTime: text,
  lockedUntil: text,
  result: text,
  demands: texts,
  reservedAgent: named,
  matchedAgents: listOf((value) =>
    isObject(value) && number(value['id']) !== undefined ? value : undefined,
  ),
  owner: (value) => (isNamed(value) ? owner(value) : undefined),
  planType: text,
  definition: named,
  scopeId: text,
  jobId: text,
  statusMessage: text,
  data: byName(text),
});

/**
 * Parses a pool, an agent, a job request or a queue. Returns undefined without a valid id and name (or, for a job
 * request, a valid agent). Any other member with a wrong type is left out.
 */
export function readPool(item: unknown): Pool | undefined {
  return isNamed(item) ? (asPool(item) as Pool) : undefined;
}

export function readAgent(item: unknown): AzureAgent | undefined {
  if (!isNamed(item)) return undefined;
  const requests: Record<string, JobRequest> = {};
  for (const key of ['assignedRequest', 'lastCompletedRequest']) {
    if (item[key] === undefined) continue;
    const request = readRequest(item[key]);
    if (request === undefined) return undefined;
    requests[key] = request;
  }
  return { ...(asAgent(item) as AzureAgent), ...requests };
}

export function readRequest(item: unknown): JobRequest | undefined {
  if (!isObject(item) || typeof item['requestId'] !== 'number') return undefined;
  return asRequest(item) as JobRequest;
}

export function readQueue(item: unknown): Queue | undefined {
  if (!isObject(item) || typeof item['id'] !== 'number') return undefined;
  const { id, pool } = item;
  if (pool === undefined) return { id };
  return isObject(pool) && typeof pool['id'] === 'number' ? { id, pool: { id: pool['id'] } } : undefined;
}

/** Parses the name of a project, the key of all requests inside it. */
export function readProjectName(item: unknown): string | undefined {
  return isObject(item) && typeof item['name'] === 'string' ? item['name'] : undefined;
}

/** Returns a parser that reads an object's members one by one; members not named here stay unchanged. */
function members(reads: Readonly<Record<string, Read>>): Read {
  const known = new Map(Object.entries(reads));
  return (value) => {
    if (!isObject(value)) return undefined;
    const read = Object.entries(value).map(
      ([name, member]) => [name, (known.get(name) ?? as)(member)] as const,
    );
    return Object.fromEntries(read.filter(([, member]) => member !== undefined));
  };
}

function as(value: unknown): unknown {
  return value;
}

function isNamed(item: unknown): item is Item {
  return isObject(item) && typeof item['id'] === 'number' && typeof item['name'] === 'string';
}
