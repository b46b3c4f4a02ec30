import { expect, test } from 'vitest';

import type { FleetEvent } from '../../../../src/fleet/apply/events.ts';
import type { FleetSurvey } from '../../../../src/fleet/apply/fleet-survey.ts';
import { applyFleetChange, latePools } from '../../../../src/fleet/apply/pools.ts';
import type { Survey } from '../../../../src/fleet/apply/survey.ts';
import { planPools, type PoolState, planLaterPools } from '../../../../src/fleet/plan/pools.ts';
import { readPoolState } from '../../../../src/shared/azure/pools/overview.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const ready = { project: 'vision', queueId: 3, authorized: true };
const pool = { id: 2, name: 'gpu-lab', autoUpdate: false };

test.each<[string, PoolState, string[]]>([
  ['up to date', { name: 'gpu-lab', pool, projects: [ready] }, []],
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

test('the plan is empty after it was applied, and reading changes nothing', async () => {
  const client = fake.client();
  const read = () => readPoolState(client, ['gpu-a', 'gpu-b', 'gpu-a'], ['vision', 'two words']);
  const plan = planPools(await read());
  expect(plan).toHaveLength(10);
  expect(new Set(plan.map(({ id }) => id)).size).toBe(10);
  expect(planPools(await read())).toEqual(plan);
  for (const change of plan) await applyFleetChange(client, change);
  expect(planPools(await read())).toEqual([]);
});

test('a wrong organization is not reported as a missing project', async () => {
  const client = fake.client({ organization: `${fake.server.origin}/elsewhere` });
  await expect(readPoolState(client, ['gpu-a'], ['vision'])).rejects.toMatchObject({
    problem: { code: 'azure.not-found', next: expect.stringContaining('correct "organization:"') },
  });
});

test('a project that does not exist is a usage error', async () => {
  await expect(readPoolState(fake.client(), ['gpu-a'], ['nowhere'])).rejects.toMatchObject({
    problem: { code: 'azure.project-missing', what: expect.stringContaining('nowhere') },
  });
});

const laterFake = useFake();
const { host } = desiredOf({ pool: '{arch}-cuda{cuda}' });
const before = factsOf();
const after = factsOf({ driver: { loaded: '580.95.05', userspace: '580.95.05', open: true } });
const changes = planLaterPools(new Map([['x64-cuda{cuda}', ['h200-1', 'h200-2']]]));

function late(pools: Partial<FleetSurvey['pools']> = {}) {
  const events: FleetEvent[] = [];
  const survey = {
    hosts: [{ host, facts: before } as Pick<Survey, 'host' | 'facts'> as Survey],
    pools: { changes, blocked: new Map(), ...pools },
  };
  const ready = latePools(laterFake.client(), survey, ['vision'], (event) => events.push(event));
  return { events, ready };
}

test('a pool without a name is announced with the hosts that its name depends on', () => {
  expect(changes).toEqual([
    {
      id: 'pool.later.x64-cuda{cuda}',
      title: 'create agent pool x64-cuda{cuda} if there is none, and permit its use',
      why: 'its name depends on the driver of h200-1, h200-2, which is not installed yet',
      action: { kind: 'name-later', pattern: 'x64-cuda{cuda}' },
    },
  ]);
});

test('a pool that was not announced is not created', async () => {
  const { ready } = late({ changes: [] });
  await expect(ready(host, after)).rejects.toMatchObject({
    problem: { code: 'plan.not-announced', what: expect.stringContaining('x64-cuda13.0') },
  });
  expect(await laterFake.client().findPool('x64-cuda13.0')).toBeUndefined();
});

test('a pool that cannot be created is reported once, and stops each of its hosts', async () => {
  await laterFake.control.deny(['pools.create']);
  const { ready, events } = late();
  const refused = { problem: { step: 'pool', what: expect.stringContaining('x64-cuda13.0') } };
  await expect(ready(host, after)).rejects.toMatchObject(refused);
  await expect(ready({ ...host, name: 'h200-2' }, after)).rejects.toMatchObject(refused);
  expect(events.map(({ kind }) => kind)).toEqual(['problem']);
});

test('a pool is created once, with its queue, when the first host knows its name', async () => {
  const { ready, events } = late();
  await ready(host, before);
  expect(events).toEqual([]);
  await Promise.all([ready(host, after), ready({ ...host, name: 'h200-2' }, after)]);
  expect(events).toMatchObject([
    { text: 'Azure DevOps: create agent pool x64-cuda13.0: done' },
    { text: 'Azure DevOps: make pool x64-cuda13.0 known in project vision: done' },
    { text: 'Azure DevOps: permit all pipelines of project vision to use pool x64-cuda13.0: done' },
  ]);
});
