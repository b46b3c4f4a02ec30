// The run in a slot's status, so that a client that waits for a change knows which agents are older than it.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readStatus, type SlotStatus } from '../../../src/shared/contract/status.ts';
import { ManagerRig } from '../../support/manager-rig.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const one = { agents: { kind: 'count', count: 1 } } as const;
const missing = {
  ...one,
  datasets: [
    { name: 'IMAGENET', host: '/nowhere/imagenet', container: '/datasets/imagenet', requireMount: false },
  ],
};

test('an idle agent: its entry in the pool, its run, and no absence', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  const entry = await rig.azure.findAgent(rig.poolId, 'box-0');
  const status = await rig.status();
  expect(status.owner).toBe(entry?.userCapabilities?.['azp-fleet.owner']);
  const [slot] = status.slots;
  expect(slot?.run).toMatchObject({ agentId: entry?.id, settings: slot?.settings });
  expect(slot?.run?.id).toMatch(/^[0-9a-z]{9}-[0-9a-f]{6}$/u);
  expect(slot?.awaySince).toBeUndefined();
  expect(readStatus(status)).toEqual(status);
});

test('a job that began before a change has the run and settings of that time', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  await rig.stop();
  await rig.start(missing);
  await expect.poll(async () => (await rig.slot('0')).settings).toBeDefined();
  const { state, run, settings } = await rig.slot('0');
  expect(state).toBe('busy');
  expect(run?.settings).not.toBe(settings);
});

test('an idle agent from before a change is absent until a new one listens', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.stop();
  await rig.start(missing);
  const seen: SlotStatus[] = [];
  await expect
    .poll(async () => {
      seen.push(await rig.slot('0'));
      return seen.at(-1)?.code;
    })
    .toBe('dataset.unusable');
  expect(new Set(seen.map(({ state }) => state)).size).toBeGreaterThan(1);
  expect(new Set(seen.map(({ awaySince }) => awaySince))).toEqual(new Set([seen[0]?.awaySince]));
  expect(seen[0]?.awaySince).toMatch(/^\d{4}-/u);
});

test('each try changes the state, but does not restart the absence', async () => {
  const version = { name: 'box-0', version: '4.275.0', osDescription: 'Linux' };
  const publicKey = { exponent: 'AQAB', modulus: 'AQAB' };
  await rig.azure.createAgent(rig.poolId, {
    ...version,
    systemCapabilities: {},
    userCapabilities: { 'azp-fleet.owner': 'an earlier installation' },
    enabled: true,
    publicKey,
  });
  await rig.start(one);
  await rig.until('backing-off', ['0']);
  const first = await rig.slot('0');
  await expect.poll(async () => (await rig.slot('0')).since).not.toBe(first.since);
  expect(await rig.slot('0')).toMatchObject({ code: 'agent.name-held', awaySince: first.awaySince });
  expect(first.awaySince).toBeDefined();
});

test('a drained agent is not absent', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.post('/v1/drain', { reason: 'fan' });
  await rig.until('drained', ['0']);
  expect((await rig.slot('0')).awaySince).toBeUndefined();
});

test('a success that asks for a pause of a day is in the status, and jobs go on', async () => {
  await rig.start(one);
  await rig.until('idle', ['0']);
  await rig.control.fail({ count: 10_000, retryAfterS: 86_400 });
  const first = rig.docker.get('box-0')?.id;
  rig.beginJob('box-0');
  await rig.until('busy', ['0']);
  rig.endJob('box-0');
  const problems = async () => (await rig.status()).problems;
  await expect
    .poll(problems)
    .toMatchObject([{ code: 'azure.odd-pause', what: expect.stringContaining('(Retry-After: 86400)') }]);
  await expect.poll(() => rig.docker.get('box-0')?.state).toBe('running');
  expect(rig.docker.get('box-0')?.id).not.toBe(first);
  await rig.control.clearFaults();
  await rig.until('idle', ['0']);
  await expect.poll(problems).toEqual([]);
});
