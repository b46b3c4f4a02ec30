// The contract of AzureClient, against the fake server over real HTTP.
import { beforeAll, describe, expect, test } from 'vitest';
import { generateAgentKey, type AgentKey } from '../../../../src/shared/azure/keys.ts';
import { newAgent, useFake } from '../../practice/azure/server.ts';

const fake = useFake();
let key: AgentKey;
beforeAll(async () => {
  key = await generateAgentKey();
});

describe('pools', () => {
  test('an unknown pool is undefined', async () => {
    expect(await fake.client().findPool('nowhere')).toBeUndefined();
  });

  test('a pool is created once, with automatic updates off, and found in any case of its name', async () => {
    const client = fake.client();
    const made = await client.ensurePool('Pool-A');
    expect(made).toMatchObject({ created: true, pool: { name: 'Pool-A', autoUpdate: false } });
    expect(await client.ensurePool('pool-a')).toMatchObject({ created: false, pool: { id: made.pool.id } });
    expect(await client.findPool('POOL-a')).toMatchObject({ id: made.pool.id, autoUpdate: false });
  });

  test('two clients that create the same pool at once get the same one', async () => {
    const both = await Promise.all([fake.client().ensurePool('race'), fake.client().ensurePool('race')]);
    expect(both[0].pool.id).toBe(both[1].pool.id);
    expect(both.filter(({ created }) => created)).toHaveLength(1);
  });

  test('hosted pools are marked', async () => {
    const pools = await fake.client().listPools();
    expect(pools.filter(({ isHosted }) => isHosted).map(({ name }) => name)).toEqual(['Azure Pipelines']);
  });
});

describe('agents', () => {
  test('registered, read, changed, replaced and removed', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('agents');
    const made = await client.createAgent(pool.id, {
      ...newAgent('h1-0', key),
      userCapabilities: { gpu: 'a100' },
    });
    expect(made.authorization?.clientId).toMatch(/^[0-9a-f-]{36}$/u);
    expect(made.authorization?.authorizationUrl).toBe(`${fake.server.organization}/_apis/oauth2/token`);
    expect(await client.findAgent(pool.id, 'H1-0')).toMatchObject({
      id: made.id,
      enabled: true,
      status: 'offline',
      userCapabilities: { gpu: 'a100' },
    });

    await client.setAgentEnabled(pool.id, made.id, false);
    await client.setUserCapabilities(pool.id, made.id, { gpu: 'h200', 'azp-fleet.owner': 'x' });
    expect(await client.getAgent(pool.id, made.id)).toMatchObject({
      enabled: false,
      userCapabilities: { gpu: 'h200', 'azp-fleet.owner': 'x' },
    });

    const again = await client.replaceAgent(pool.id, made.id, {
      ...newAgent('h1-0', await generateAgentKey()),
      version: '4.276.0',
      enabled: false,
    });
    expect(again).toMatchObject({ id: made.id, version: '4.276.0', enabled: false });
    expect(again.authorization).toMatchObject({ clientId: made.authorization?.clientId });
    expect(await client.getAgent(pool.id, made.id)).toMatchObject({ userCapabilities: { gpu: 'h200' } });

    expect(await client.deleteAgent(pool.id, made.id)).toBe(true);
    expect(await client.getAgent(pool.id, made.id)).toBeUndefined();
    expect(await client.deleteAgent(pool.id, made.id)).toBe(true);
    expect(await client.listAgents(pool.id)).toEqual([]);
  });

  test('a second agent of the same name is a conflict', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('names');
    await client.createAgent(pool.id, newAgent('h1-0', key));
    await expect(client.createAgent(pool.id, newAgent('H1-0', key))).rejects.toMatchObject({
      problem: { code: 'azure.conflict', seen: expect.stringContaining('already contains an agent') },
    });
  });

  test('waiting requests show their demands and are gone from the list once done', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('queue');
    await client.createAgent(pool.id, newAgent('q-0', key));
    const [job] = await fake.control.queue({ pool: 'queue', demands: ['git'] });
    const [request] = await client.unfinishedRequests(pool.id);
    expect(request).toMatchObject({ requestId: job?.id, demands: ['git'] });
    expect(request?.receiveTime).toBeUndefined();
    await fake.control.cancel(job?.id ?? 0);
    expect(await client.unfinishedRequests(pool.id)).toEqual([]);
    expect(await client.getRequest(pool.id, job?.id ?? 0)).toMatchObject({ result: 'canceled' });
    expect(await client.getRequest(pool.id, 999_999)).toBeUndefined();
  });
});

describe('projects', () => {
  test('a queue is made and permitted for all pipelines', async () => {
    const client = fake.client();
    const { pool } = await client.ensurePool('shared');
    expect(await client.findProject('nowhere')).toBeUndefined();
    const queues = async () =>
      (await client.findProject('two words'))?.queues.filter(({ poolId }) => poolId === pool.id);
    expect(await queues()).toEqual([]);
    const queue = await client.createQueue('two words', pool);
    expect(await queues()).toEqual([{ id: queue.id, poolId: pool.id }]);
    expect(await client.createQueue('two words', pool)).toMatchObject({ id: queue.id });
    expect(await client.isQueueAuthorized('two words', queue.id)).toBe(false);
    await client.authorizeQueue('two words', queue.id);
    expect(await client.isQueueAuthorized('two words', queue.id)).toBe(true);
  });
});
