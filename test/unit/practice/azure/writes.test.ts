// What clients change is changed, and shown so.
import { beforeEach, describe, expect, test } from 'vitest';
import { anAgent, apiOf, valueOf } from './api.ts';
import { useFake } from './server.ts';

const fake = useFake();
const call = apiOf(fake);
const root = '/_apis/distributedtask';
const made = async (path: string, body: object) => (await call('POST', path, body)).json as { id: number };
let pool = 0;
let agent = '';
let tests = 0;

beforeEach(async () => {
  tests += 1;
  pool = (await made(`${root}/pools`, { name: `pool-${tests}` })).id;
  agent = `${root}/pools/${pool}/agents/${(await made(`${root}/pools/${pool}/agents`, anAgent('a'))).id}`;
});

describe('an agent', () => {
  test('has the new name after PUT, and is found by it alone', async () => {
    const answer = await call('PUT', agent, anAgent('renamed', { version: '5.279.0', maxParallelism: 2 }));
    expect(answer.json).toMatchObject({ name: 'renamed', version: '5.279.0', maxParallelism: 2 });
    const find = async (name: string) =>
      valueOf(await call('GET', `${root}/pools/${pool}/agents?agentName=${name}`), (each) => each['name']);
    expect(await find('renamed')).toEqual(['renamed']);
    expect(await find('a')).toEqual([]);
  });

  test('does not get the name of another one', async () => {
    await made(`${root}/pools/${pool}/agents`, anAgent('b'));
    expect(await call('PUT', agent, anAgent('B'))).toMatchObject({
      status: 409,
      json: { typeKey: 'TaskAgentExistsException' },
    });
    expect((await call('PUT', agent, anAgent('A'))).json).toMatchObject({ name: 'A' });
  });

  test.each([
    { enabled: false },
    { maxParallelism: 4 },
    { provisioningState: 'Deallocated' },
    { name: 'patched' },
  ])('takes over %o by PATCH, and keeps the rest', async (change) => {
    const before = (await call('GET', agent)).json as object;
    await call('PATCH', agent, change);
    const { accessPoint: _, ...after } = (await call('GET', agent)).json as Record<string, unknown>;
    expect({ ...before, ...change }).toMatchObject(after);
  });

  test('loses capabilities whose value is null', async () => {
    const answer = await call('PUT', `${agent}/usercapabilities`, { gpu: 'A100', gone: null });
    expect((answer.json as { userCapabilities: object }).userCapabilities).toEqual({ gpu: 'A100' });
  });

  test('is gone after DELETE, and its name is free', async () => {
    expect((await call('DELETE', agent)).status).toBe(204);
    expect((await call('GET', agent)).status).toBe(404);
    expect((await call('POST', `${root}/pools/${pool}/agents`, anAgent('a'))).status).toBe(200);
  });
});

describe('updates', () => {
  test('one agent is asked to update itself, and tells how far it has come', async () => {
    await call('POST', `${root}/pools/${pool}/messages?agentId=${agent.split('/').at(-1)}`);
    expect((await call('GET', agent)).json).toMatchObject({
      pendingUpdate: {
        currentState: 'Requested',
        reason: { code: 'manual' },
        requestTime: expect.any(String),
        requestedBy: { displayName: expect.any(String) },
        sourceVersion: { major: 4, minor: 275, patch: 0 },
        targetVersion: { major: 5, minor: 279, patch: 0 },
      },
    });
    const state = await call('PUT', `${agent}/updates?currentState=Downloading&api-version=7.1-preview.1`);
    expect(state.json).toMatchObject({ pendingUpdate: { currentState: 'Downloading' } });
    await call('PUT', agent, anAgent('a', { version: '5.279.0' }));
    expect((await call('GET', agent)).json).not.toHaveProperty('pendingUpdate');
  });

  test('without an agent all of the pool are asked', async () => {
    await made(`${root}/pools/${pool}/agents`, anAgent('b'));
    await call('POST', `${root}/pools/${pool}/messages`);
    const agents = await call('GET', `${root}/pools/${pool}/agents`);
    expect(valueOf(agents, (each) => 'pendingUpdate' in each)).toEqual([true, true]);
  });

  test('an update that was not requested cannot be reported', async () => {
    expect(await call('PUT', `${agent}/updates?currentState=x&api-version=7.1-preview.1`)).toMatchObject({
      status: 400,
      json: { typeKey: 'TaskAgentPendingUpdateNotFoundException' },
    });
  });
});

describe('a pool', () => {
  test.each([{ name: 'other' }, { autoUpdate: false }, { autoProvision: true }, { targetSize: 3 }])(
    'takes over %o by PATCH',
    async (change) => {
      expect((await call('PATCH', `${root}/pools/${pool}`, change)).json).toMatchObject(change);
      expect((await call('GET', `${root}/pools/${pool}`)).json).toMatchObject(change);
      await call('DELETE', `${root}/pools/${pool}`);
    },
  );

  test('takes its agents and jobs with it, and leaves its queues without a pool', async () => {
    const [job] = await fake.control.queue({ pool: `pool-${tests}` });
    const queue = await made(`/vision${root}/queues`, { pool: { id: pool } });
    expect((await call('DELETE', `${root}/pools/${pool}`)).status).toBe(204);
    expect((await call('GET', `${root}/pools/${pool}`)).status).toBe(404);
    expect((await call('GET', agent)).status).toBe(404);
    const jobs = await fake.control.jobs();
    expect(jobs.find(({ id }) => id === job?.id)).toMatchObject({ state: 'done', result: 'canceled' });
    const left = (await call('GET', `/vision${root}/queues/${queue.id}`)).json;
    expect(left).toMatchObject({ id: queue.id });
    expect(left).not.toHaveProperty('pool');
  });

  test('that provisions itself has a queue in every project', async () => {
    await made(`${root}/pools`, { name: `everywhere-${tests}`, autoProvision: true });
    for (const project of ['vision', 'two%20words']) {
      const found = await call('GET', `/${project}${root}/queues?queueName=everywhere-${tests}`);
      expect(found.json).toMatchObject({ count: 1 });
    }
  });
});

describe('a queue', () => {
  test('without a pool makes one of its name', async () => {
    const queue = await call('POST', `/vision${root}/queues`, { name: `new-${tests}` });
    expect(queue.json).toMatchObject({
      name: `new-${tests}`,
      pool: { name: `new-${tests}`, isHosted: false, poolType: 'automation', size: 0 },
    });
    expect((await call('GET', `${root}/pools?poolName=new-${tests}`)).json).toMatchObject({ count: 1 });
  });

  test('without a pool takes the one of its name', async () => {
    const queue = await call('POST', `/vision${root}/queues`, { name: `pool-${tests}` });
    expect(queue.json).toMatchObject({ pool: { id: pool } });
  });

  test('is open to all pipelines from the start with authorizePipelines=True', async () => {
    const { json } = await call('POST', `/vision${root}/queues?authorizePipelines=True`, {
      pool: { id: pool },
    });
    const path = `/vision/_apis/pipelines/pipelinepermissions/queue/${(json as { id: number }).id}`;
    expect((await call('GET', `${path}?api-version=7.1-preview.1`)).json).toMatchObject({
      allPipelines: { authorized: true, authorizedOn: expect.any(String) },
    });
  });

  test('is permitted to single pipelines and withdrawn again', async () => {
    const queue = await made(`/vision${root}/queues`, { pool: { id: pool } });
    const path = `/vision/_apis/pipelines/pipelinepermissions/queue/${queue.id}?api-version=7.1-preview.1`;
    const permit = (pipelines: object[]) => call('PATCH', path, { pipelines });
    await permit([
      { id: 16, authorized: true },
      { id: 17, authorized: true },
    ]);
    await permit([{ id: 17, authorized: false }]);
    expect((await call('GET', path)).json).toEqual({
      resource: { type: 'queue', id: String(queue.id) },
      pipelines: [
        {
          id: 16,
          authorized: true,
          authorizedBy: expect.objectContaining({ uniqueName: 'admin@lab.example' }),
          authorizedOn: expect.any(String),
        },
      ],
    });
  });
});

describe('maintenance', () => {
  const version = 'api-version=7.1-preview.1';

  test('a definition is made, changed, listed and removed', async () => {
    const path = `${root}/pools/${pool}/maintenancedefinitions`;
    const wanted = {
      enabled: true,
      jobTimeoutInMinutes: 30,
      maxConcurrentAgentsPercentage: 50,
      options: { workingDirectoryExpirationInDays: 7 },
      retentionPolicy: { numberOfHistoryRecordsToKeep: 5 },
      scheduleSetting: { daysToBuild: 'monday, friday', startHours: 3, startMinutes: 15, timeZoneId: 'UTC' },
    };
    const { id } = await made(`${path}?${version}`, wanted);
    const one = `${path}/${id}?${version}`;
    expect((await call('GET', one)).json).toMatchObject({ ...wanted, id, pool: { id: pool } });
    await call('PUT', one, { ...wanted, enabled: false, scheduleSetting: { daysToBuild: 127 } });
    expect(valueOf(await call('GET', `${path}?${version}`), (each) => each)).toMatchObject([
      { enabled: false, scheduleSetting: { daysToBuild: 'all' } },
    ]);
    expect((await call('DELETE', one)).status).toBe(204);
    expect((await call('GET', one)).status).toBe(404);
  });

  test('a job waits, for a definition that is enabled, until it is cancelled', async () => {
    const path = `${root}/pools/${pool}`;
    const off = await made(`${path}/maintenancedefinitions?${version}`, { enabled: false });
    const on = await made(`${path}/maintenancedefinitions?${version}`, { enabled: true });
    const queue = (definitionId: number) =>
      call('POST', `${path}/maintenancejobs?${version}`, { definitionId });
    expect(await queue(off.id)).toMatchObject({
      status: 400,
      json: { typeKey: 'TaskAgentPoolMaintenanceNotEnabledException' },
    });
    const { json } = await queue(on.id);
    expect(json).toMatchObject({ status: 'queued', targetAgents: [{ agent: { name: 'a' } }] });
    const job = `${path}/maintenancejobs/${(json as { jobId: number }).jobId}?${version}`;
    expect((await call('PATCH', job, { status: 'cancelling' })).json).toMatchObject({ result: 'canceled' });
    expect((await call('DELETE', job)).status).toBe(204);
  });
});

describe('a project', () => {
  test('is made, changed and removed, each time as an operation that is then done', async () => {
    const making = await call('POST', '/_apis/projects', {
      name: `p ${tests}`,
      description: 'first',
      visibility: 'private',
      capabilities: { versioncontrol: { sourceControlType: 'Git' } },
    });
    expect(making).toMatchObject({ status: 202, json: { status: 'notSet' } });
    const { id } = making.json as { id: string };
    expect((await call('GET', `/_apis/operations/${id}`)).json).toMatchObject({ id, status: 'succeeded' });
    const found = (await call('GET', `/_apis/projects/p%20${tests}`)).json as { id: string };
    expect((await call('GET', `/p%20${tests}${root}/queues`)).json).toMatchObject({
      value: expect.arrayContaining([expect.objectContaining({ name: 'Default' })]),
    });
    expect((await call('PATCH', `/_apis/projects/${found.id}`, { description: 'second' })).status).toBe(202);
    expect((await call('GET', `/_apis/projects/${found.id}`)).json).toMatchObject({ description: 'second' });
    expect((await call('DELETE', `/_apis/projects/${found.id}`)).status).toBe(202);
    expect((await call('GET', `/_apis/projects/${found.id}`)).status).toBe(404);
  });
});
