import type { VsoClient } from 'azure-devops-node-api/VsoClient.js';
import type { WebApi } from 'azure-devops-node-api';
import { BuildStatus } from 'azure-devops-node-api/interfaces/BuildInterfaces.js';
import { expect } from 'vitest';
import { refusal, type ClientCall } from './world.ts';

const queues = '/{organization}/{project}/_apis/distributedtask/queues';
const permission =
  '/{organization}/{project}/_apis/pipelines/pipelinepermissions/{resourceType}/{resourceId}';

/** A call without a method of the client: found by its discovery, sent by its transport. */
async function located(
  web: WebApi,
  area: string,
  location: string,
  values: object,
  version = '7.2-preview.1',
) {
  const client: VsoClient = web.vsoClient;
  const { apiVersion = '', requestUrl = '' } = await client.getVersioningData(
    version,
    area,
    location,
    values,
  );
  return { url: requestUrl, options: { acceptHeader: `application/json;api-version=${apiVersion}` } };
}

const permissions = (web: WebApi, project: string, queue: number) =>
  located(web, 'pipelinePermissions', 'b5b9a4a4-e6cd-4096-853c-ab7d8b0c4eb2', {
    project,
    resourceType: 'queue',
    resourceId: String(queue),
  });

const asked = (version: string) => ({ acceptHeader: `application/json;api-version=${version}` });

/** Queues of projects, job requests, permissions, sessions, and versions of the interface. */
export const queueCalls: readonly ClientCall[] = [
  {
    name: 'getAgentQueues',
    call: ({ tasks, project }) => tasks.getAgentQueues(project.name),
    shape: expect.arrayContaining([
      expect.objectContaining({
        name: 'client',
        pool: expect.objectContaining({ name: 'client', isHosted: false }),
      }),
    ]),
    source: `contract GET ${queues}`,
  },
  {
    name: 'getAgentQueues by name',
    call: ({ tasks, project }) => tasks.getAgentQueues(project.id, 'CLIENT'),
    shape: [{ name: 'client', projectId: expect.any(String), pool: { poolType: 1, size: 2 } }],
    source: 'recorded GET /pipelinesTest000001/_apis/distributedtask/queues',
  },
  {
    name: 'getAgentQueuesByIds',
    call: ({ tasks, project, queue }) => tasks.getAgentQueuesByIds([queue.id, 999_999], project.name),
    shape: [{ name: 'client' }],
    source: 'client TaskAgentQueue',
  },
  {
    name: 'getAgentQueuesByNames',
    call: ({ tasks, project }) => tasks.getAgentQueuesByNames(['client', 'unknown'], project.name),
    shape: [{ name: 'client' }],
    source: 'client TaskAgentQueue',
  },
  {
    name: 'getAgentQueuesForPools',
    call: ({ tasks, project, pool }) => tasks.getAgentQueuesForPools([pool.id], project.name),
    shape: [{ name: 'client' }],
    source: 'client TaskAgentQueue',
  },
  {
    name: 'getAgentQueue',
    call: ({ tasks, project, queue }) => tasks.getAgentQueue(queue.id, project.name),
    shape: { id: expect.any(Number), name: 'client', pool: { name: 'client' } },
    source: `contract GET ${queues}/{queueId}`,
  },
  {
    name: 'getAgentQueue of an unknown id: 404 is null',
    call: ({ tasks, project }) => tasks.getAgentQueue(999_999, project.name),
    shape: null,
    source: `contract GET ${queues}/{queueId}`,
  },
  {
    name: 'getAgentQueues of an unknown project: 404 is null',
    call: ({ tasks }) => tasks.getAgentQueues('unknown'),
    shape: null,
    source: `contract GET ${queues}`,
  },
  {
    name: 'addAgentQueue a second time',
    call: ({ tasks, project, pool }) =>
      refusal(tasks.addAgentQueue({ name: 'client', pool: { id: pool.id } }, project.name)),
    shape: { statusCode: 409, typeKey: 'TaskAgentQueueExistsException' },
    source: `contract POST ${queues}`,
  },
  {
    name: 'addAgentQueue without a pool makes one of its name',
    call: ({ tasks, project }) => tasks.addAgentQueue({ name: 'own' }, project.name),
    shape: { name: 'own', pool: { id: expect.any(Number), name: 'own' } },
    source: `contract POST ${queues}`,
  },
  {
    name: 'deleteAgentQueue',
    call: async ({ tasks, pool }) => {
      const { id = 0 } = await tasks.addAgentQueue({ name: 'gone', pool: { id: pool.id } }, 'two words');
      await tasks.deleteAgentQueue(id, 'two words');
      return await tasks.getAgentQueue(id, 'two words');
    },
    shape: null,
    source: `contract DELETE ${queues}/{queueId}`,
  },
  {
    name: 'getBuild of a run with a job in progress',
    call: async ({ web, project, running }) => (await web.getBuildApi()).getBuild(project.name, running.id),
    shape: {
      id: expect.any(Number),
      status: BuildStatus.InProgress,
      queueTime: expect.any(Date),
      project: { name: 'vision' },
      validationResults: [],
    },
    source: 'client Build',
  },
  {
    name: 'getBuild of an unknown number: 404 is null',
    call: async ({ web, project }) => (await web.getBuildApi()).getBuild(project.name, 999_999),
    shape: null,
    source: 'client Build',
  },
  {
    name: 'getBuildTimeline',
    call: async ({ web, project, running }) =>
      (await web.getBuildApi()).getBuildTimeline(project.name, running.id),
    shape: { records: [{ type: 'Job', state: expect.any(Number), issues: [] }] },
    source: 'client Timeline',
  },
  {
    name: 'pipeline permissions of a queue',
    call: async ({ web, project, queue }) => {
      const { url, options } = await permissions(web, project.name, queue.id);
      return (await web.rest.get(url, options)).result;
    },
    shape: { resource: { type: 'queue', id: expect.any(String) }, pipelines: [] },
    source: `contract GET ${permission}`,
  },
  {
    name: 'permitting all pipelines, and one',
    call: async ({ web, project, queue }) => {
      const { url, options } = await permissions(web, project.name, queue.id);
      const body = { allPipelines: { authorized: true }, pipelines: [{ id: 16, authorized: true }] };
      return (await web.rest.update(url, body, options)).result;
    },
    shape: { allPipelines: { authorized: true }, pipelines: [{ id: 16, authorized: true }] },
    source: `contract PATCH ${permission}`,
  },
  {
    name: 'getAgentRequests: who runs, who waits',
    call: async ({ tasks, pool, running, waiting }) => {
      const found = await tasks.getAgentRequests(pool.id, 50);
      return [running, waiting].map(({ id }) => found.find(({ requestId }) => requestId === id));
    },
    shape: [
      { jobName: 'job', reservedAgent: { name: 'busy-0' }, receiveTime: expect.any(Date) },
      { jobName: 'job', demands: expect.anything(), queueTime: expect.any(Date), planType: 'Build' },
    ],
    source: 'client TaskAgentJobRequest',
  },
  {
    name: 'getAgentRequestsForAgent',
    call: ({ tasks, pool, busy }) => tasks.getAgentRequestsForAgent(pool.id, busy.id, 0),
    shape: [{ reservedAgent: { name: 'busy-0' } }],
    source: 'client TaskAgentJobRequest',
  },
  {
    name: 'getAgentRequestsForAgents',
    call: ({ tasks, pool, busy, idle }) => tasks.getAgentRequestsForAgents(pool.id, [busy.id, idle.id], 0),
    shape: [{ reservedAgent: { name: 'busy-0' } }],
    source: 'client TaskAgentJobRequest',
  },
  {
    name: 'getAgentRequestsForPlan',
    call: async ({ tasks, pool, waiting }) => {
      const { planId = '' } = await tasks.getAgentRequest(pool.id, waiting.id);
      const found = await tasks.getAgentRequestsForPlan(pool.id, planId);
      return found.map(({ requestId }) => requestId === waiting.id);
    },
    shape: [true],
    source: 'client TaskAgentJobRequest',
  },
  {
    name: 'getAgentRequest',
    call: ({ tasks, pool, waiting }) => tasks.getAgentRequest(pool.id, waiting.id),
    shape: { planId: expect.any(String), jobId: expect.any(String), poolId: expect.any(Number) },
    source: 'client TaskAgentJobRequest',
  },
  {
    name: 'getAgentRequest of an unknown id: 404 is null',
    call: ({ tasks, pool }) => tasks.getAgentRequest(pool.id, 999_999),
    shape: null,
    source: 'client TaskAgentJobRequest',
  },
  {
    name: 'getAgentRequests of an unknown pool: 404 is null',
    call: ({ tasks }) => tasks.getAgentRequests(999_999, 5),
    shape: null,
    source: 'client TaskAgentJobRequest',
  },
  {
    name: 'a session, as an agent: made and deleted',
    call: async ({ asAgent, pool, idle }) => {
      const session = await asAgent.createAgentSession({ ownerName: 'host', agent: idle }, pool.id);
      await asAgent.deleteAgentSession(pool.id, session.sessionId ?? '');
      return session;
    },
    shape: { sessionId: expect.any(String), ownerName: 'host', encryptionKey: { encrypted: true } },
    source: 'agent CreateAgentSessionAsync',
  },
  {
    name: 'a session of an agent that has one',
    call: ({ asAgent, pool, idle }) =>
      refusal(
        asAgent
          .createAgentSession({ ownerName: 'host', agent: idle }, pool.id)
          .then(() => asAgent.createAgentSession({ ownerName: 'other', agent: idle }, pool.id)),
      ),
    shape: { statusCode: 409, typeKey: 'TaskAgentSessionConflictException' },
    source: 'agent TaskAgentSessionConflictException',
  },
  {
    name: 'what an agent may not',
    call: ({ asAgent }) => refusal(asAgent.getAgentPools()),
    shape: { statusCode: 403 },
    source: 'agent access token',
  },
  {
    name: 'an older version, as the Azure command line asks for',
    call: async ({ web, pool }) =>
      (await web.rest.get(`${web.serverUrl}/_apis/distributedtask/pools/${pool.id}`, asked('5.1'))).result,
    shape: { name: 'client', poolType: 'automation' },
    source: 'recorded GET /_apis/distributedtask/pools',
  },
  {
    name: 'a released version of what is in preview',
    call: ({ web }) =>
      refusal(web.rest.get(`${web.serverUrl}/_apis/distributedtask/resourcelimits`, asked('7.1'))),
    shape: { statusCode: 400, typeKey: 'VssInvalidPreviewVersionException' },
    source: 'locations resourcelimits',
  },
  {
    name: 'a version that is not there yet',
    call: ({ web }) => refusal(web.rest.get(`${web.serverUrl}/_apis/projects`, asked('9.0'))),
    shape: { statusCode: 400, typeKey: 'VssVersionOutOfRangeException' },
    source: 'locations projects',
  },
];
