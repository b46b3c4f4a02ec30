import { expect, test } from 'vitest';
import { applyFleetChange } from '../../../../src/fleet/apply/azure-pools.ts';
import { readPoolState } from '../../../../src/shared/azure/pools/overview.ts';
import { planPools, type PoolState } from '../../../../src/fleet/plan/pools.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const ready = { project: 'vision', queueId: 3, authorized: true };
const pool = { id: 2, name: 'gpu-lab', autoUpdate: false };

test.each<[string, PoolState, string[]]>([
  ['all is as wanted', { name: 'gpu-lab', pool, projects: [ready] }, []],
  ['no projects', { name: 'gpu-lab', pool, projects: [] }, []],
  [
    'no pool',
    {
      name: 'gpu-lab',
      pool: undefined,
      projects: [{ project: 'vision', queueId: undefined, authorized: false }],
    },
    ['create-pool', 'create-queue', 'authorize-queue'],
  ],
  [
    'automatic updates are on',
    { name: 'gpu-lab', pool: { ...pool, autoUpdate: true }, projects: [ready] },
    ['disable-auto-update'],
  ],
  [
    'not permitted',
    { name: 'gpu-lab', pool, projects: [{ ...ready, authorized: false }] },
    ['authorize-queue'],
  ],
  [
    'one project of two lacks the queue',
    { name: 'gpu-lab', pool, projects: [ready, { project: 'b', queueId: undefined, authorized: false }] },
    ['create-queue', 'authorize-queue'],
  ],
])('%s', (_, state, kinds) => {
  expect(planPools([state]).map(({ action }) => action.kind)).toEqual(kinds);
});

test('the plan carried out leaves nothing to plan, and reading changes nothing', async () => {
  const client = fake.client();
  const read = () => readPoolState(client, ['gpu-a', 'gpu-b', 'gpu-a'], ['vision', 'two words']);
  const plan = planPools(await read());
  expect(plan).toHaveLength(10);
  expect(new Set(plan.map(({ id }) => id)).size).toBe(10);
  expect(planPools(await read())).toEqual(plan);
  for (const change of plan) await applyFleetChange(client, change);
  expect(planPools(await read())).toEqual([]);
});

test('a wrong organization is not called a missing project', async () => {
  const client = fake.client({ organization: `${fake.server.origin}/elsewhere` });
  await expect(readPoolState(client, ['gpu-a'], ['vision'])).rejects.toMatchObject({
    problem: { code: 'azure.not-found', next: expect.stringContaining('correct "organization:"') },
  });
});

test("a project that does not exist is the user's to correct", async () => {
  await expect(readPoolState(fake.client(), ['gpu-a'], ['nowhere'])).rejects.toMatchObject({
    problem: { code: 'azure.project-missing', what: expect.stringContaining('nowhere') },
  });
});
