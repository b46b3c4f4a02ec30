import { expect } from 'vitest';
import { refusal, type ClientCall } from './world.ts';

const agents = '/{organization}/_apis/distributedtask/pools/{poolId}/agents';
const [offline, online] = [1, 2];
const anotherKey = { exponent: 'AQAB', modulus: Buffer.alloc(256, 3).toString('base64') };
const named = (name: string): object => ({ name, version: '5.279.0', maxParallelism: 1 });

/** Calls about agents. */
export const agentCalls: readonly ClientCall[] = [
  {
    name: 'getAgents',
    call: ({ tasks, pool }) => tasks.getAgents(pool.id),
    shape: expect.arrayContaining([
      expect.objectContaining({ name: 'busy-0', status: online, enabled: true }),
      expect.objectContaining({ name: 'idle-0', status: offline, provisioningState: 'Provisioned' }),
    ]),
    source: `contract GET ${agents}`,
  },
  {
    name: 'getAgents by name, in any case, without members that were not requested',
    call: async ({ tasks, pool }) => {
      const [agent = {}] = await tasks.getAgents(pool.id, 'IDLE-0');
      const { systemCapabilities, assignedRequest, lastCompletedRequest } = agent;
      return { ...agent, more: [systemCapabilities, assignedRequest, lastCompletedRequest] };
    },
    shape: {
      name: 'idle-0',
      version: '5.279.0',
      createdOn: expect.any(Date),
      maxParallelism: 1,
      _links: { self: { href: expect.any(String) }, web: { href: expect.any(String) } },
      more: [undefined, undefined, undefined],
    },
    source: `contract GET ${agents}`,
  },
  {
    name: 'getAgents with capabilities',
    call: ({ tasks, pool }) => tasks.getAgents(pool.id, 'idle-0', true),
    shape: [{ systemCapabilities: { gpu: 'a100', 'Agent.Name': 'idle-0' }, userCapabilities: {} }],
    source: `contract GET ${agents}`,
  },
  {
    name: 'getAgents with the job that each runs',
    call: ({ tasks, pool }) => tasks.getAgents(pool.id, 'busy-0', false, true),
    shape: [{ assignedRequest: { requestId: expect.any(Number), receiveTime: expect.any(Date) } }],
    source: `contract GET ${agents}`,
  },
  {
    name: 'getAgents by demand',
    call: async ({ tasks, pool }) => {
      const found = async (demand: string) =>
        (await tasks.getAgents(pool.id, undefined, undefined, undefined, undefined, undefined, [demand]))
          .length;
      return [await found('gpu -equals a100'), await found('gpu -equals h200'), await found('gpu')];
    },
    shape: [2, 0, 2],
    source: `contract GET ${agents}`,
  },
  {
    name: 'getAgents of an unknown pool: 404 is null',
    call: ({ tasks }) => tasks.getAgents(999_999),
    shape: null,
    source: `contract GET ${agents}`,
  },
  {
    name: 'getAgent with everything',
    call: ({ tasks, pool, busy }) => tasks.getAgent(pool.id, busy.id, true, true, true),
    shape: {
      id: expect.any(Number),
      status: online,
      systemCapabilities: { gpu: 'a100' },
      assignedRequest: { requestId: expect.any(Number) },
      authorization: { clientId: expect.any(String) },
    },
    source: 'client TaskAgent',
  },
  {
    name: 'getAgent of an unknown id: 404 is null',
    call: ({ tasks, pool }) => tasks.getAgent(pool.id, 999_999),
    shape: null,
    source: 'client TaskAgent',
  },
  {
    name: 'addAgent returns how the agent logs in',
    call: ({ tasks }) =>
      tasks.addAgent({ ...named('added-0'), authorization: { publicKey: anotherKey } } as object, 1),
    shape: {
      name: 'added-0',
      authorization: {
        clientId: expect.any(String),
        authorizationUrl: expect.stringMatching(/\/_apis\/oauth2\/token$/u),
      },
    },
    source: `contract POST ${agents}`,
  },
  {
    name: 'addAgent with a taken name',
    call: ({ tasks, pool }) => refusal(tasks.addAgent(named('Idle-0'), pool.id)),
    shape: { statusCode: 409, typeKey: 'TaskAgentExistsException' },
    source: `contract POST ${agents}`,
  },
  {
    name: 'addAgent without a name',
    call: ({ tasks, pool }) => refusal(tasks.addAgent({}, pool.id)),
    shape: { statusCode: 400 },
    source: `contract POST ${agents}`,
  },
  {
    name: "addAgent to the service's own machines",
    call: ({ tasks }) => refusal(tasks.addAgent(named('h-0'), 2)),
    shape: { statusCode: expect.any(Number), typeKey: expect.any(String) },
    source: `contract POST ${agents}`,
  },
  {
    name: 'replaceAgent: the id stays, the version is new',
    call: async ({ tasks, pool }) => {
      const { id = 0 } = await tasks.addAgent(named('replaced-0'), pool.id);
      const again = { ...named('replaced-0'), version: '5.280.0', authorization: { publicKey: anotherKey } };
      const { id: after, version } = await tasks.replaceAgent(again as object, pool.id, id);
      await tasks.deleteAgent(pool.id, id);
      return { same: after === id, version };
    },
    shape: { same: true, version: '5.280.0' },
    source: `contract PUT ${agents}/{agentId}`,
  },
  {
    name: 'updateAgent: taken out, and how many jobs at once',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.addAgent(named('disabled-0'), 1);
      await tasks.updateAgent({ id, enabled: false, maxParallelism: 2 }, 1, id);
      return await tasks.getAgent(1, id);
    },
    shape: { enabled: false, maxParallelism: 2 },
    source: `contract PATCH ${agents}/{agentId}`,
  },
  {
    name: 'updateAgentUserCapabilities',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.addAgent(named('capable-0'), 1);
      await tasks.updateAgentUserCapabilities({ lab: 'north' }, 1, id);
      return await tasks.getAgent(1, id, true);
    },
    shape: { userCapabilities: { lab: 'north' } },
    source: 'locations usercapabilities',
  },
  {
    name: 'refreshAgent asks for an update',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.addAgent(named('refreshed-0'), 1);
      await tasks.refreshAgent(1, id);
      return await tasks.getAgent(1, id);
    },
    shape: { pendingUpdate: { currentState: expect.any(String) } },
    source: 'client TaskAgentUpdate',
  },
  {
    name: 'updateAgentUpdateState',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.addAgent(named('updating-0'), 1);
      await tasks.refreshAgent(1, id);
      return await tasks.updateAgentUpdateState(1, id, 'Downloading');
    },
    shape: { name: 'updating-0', pendingUpdate: { currentState: 'Downloading' } },
    source: 'locations updates',
  },
  {
    name: 'refreshAgents asks all of a pool',
    call: async ({ tasks }) => {
      const { id: poolId = 0 } = await tasks.addAgentPool({ name: 'refreshed' });
      await tasks.addAgent(named('r-0'), poolId);
      await tasks.refreshAgents(poolId);
      return await tasks.getAgents(poolId);
    },
    shape: [{ pendingUpdate: { currentState: expect.any(String) } }],
    source: 'locations messages',
  },
  {
    name: 'deleteAgent, also when it is gone already',
    call: async ({ tasks }) => {
      const { id = 0 } = await tasks.addAgent(named('deleted-0'), 1);
      await tasks.deleteAgent(1, id);
      await tasks.deleteAgent(1, id);
      return await tasks.getAgent(1, id);
    },
    shape: null,
    source: `contract DELETE ${agents}/{agentId}`,
  },
  {
    name: 'deleteAgent while it runs a job',
    call: ({ tasks, pool, busy }) => refusal(tasks.deleteAgent(pool.id, busy.id)),
    shape: { statusCode: 400, typeKey: 'TaskAgentJobStillRunningException' },
    source: `contract DELETE ${agents}/{agentId}`,
  },
];
