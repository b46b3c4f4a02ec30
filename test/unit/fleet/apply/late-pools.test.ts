import { expect, test } from 'vitest';
import type { FleetEvent } from '../../../../src/fleet/apply/events.ts';
import type { FleetSurvey } from '../../../../src/fleet/apply/fleet-survey.ts';
import { latePools } from '../../../../src/fleet/apply/late-pools.ts';
import type { Survey } from '../../../../src/fleet/apply/survey.ts';
import { planLaterPools } from '../../../../src/fleet/plan/pools.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { useFake } from '../../practice/azure/server.ts';

const fake = useFake();
const { host } = desiredOf({ pool: '{arch}-cuda{cuda}' });
const before = factsOf();
const after = factsOf({ driver: { loaded: '580.95.05', userspace: '580.95.05', open: true } });
const changes = planLaterPools(new Map([['x64-cuda{cuda}', ['h200-1', 'h200-2']]]));

function late(pools: Partial<FleetSurvey['pools']> = {}) {
  const events: FleetEvent[] = [];
  const survey = {
    hosts: [{ host, facts: before } as Survey],
    pools: { changes, blocked: new Map(), ...pools },
  };
  const ready = latePools(fake.client(), survey, ['vision'], (event) => events.push(event));
  return { events, ready };
}

test('what is announced without a name says who decides it', () => {
  expect(changes).toEqual([
    {
      id: 'pool.later.x64-cuda{cuda}',
      title: 'create agent pool x64-cuda{cuda} if there is none, and permit its use',
      why: 'the driver of h200-1, h200-2 decides what it is called, and is still to come; at most this',
      action: { kind: 'name-later', pattern: 'x64-cuda{cuda}' },
    },
  ]);
});

test('a pool that was not announced is not made', async () => {
  const { ready } = late({ changes: [] });
  await expect(ready(host, after)).rejects.toMatchObject({
    problem: { code: 'plan.not-announced', what: expect.stringContaining('x64-cuda13.0') },
  });
  expect(await fake.client().findPool('x64-cuda13.0')).toBeUndefined();
});

test('one that cannot be made is told once, and stops each of its hosts', async () => {
  await fake.control.deny(['pools.create']);
  const { ready, events } = late();
  const refused = { problem: { step: 'pool', what: expect.stringContaining('x64-cuda13.0') } };
  await expect(ready(host, after)).rejects.toMatchObject(refused);
  await expect(ready({ ...host, name: 'h200-2' }, after)).rejects.toMatchObject(refused);
  expect(events.map(({ kind }) => kind)).toEqual(['problem']);
});

test('it is made once, with its queue, when the first host knows its name', async () => {
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
