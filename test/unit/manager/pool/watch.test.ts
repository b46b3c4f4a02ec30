import { expect, test } from 'vitest';
import type { AzureAgent } from '../../../../src/azure/client.ts';
import type { Clock } from '../../../../src/base/machine/clock.ts';
import { PoolWatch } from '../../../../src/manager/pool/watch.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

/** Runs a watch for so many pauses, on a clock that only takes notes; what it asked and how long it paused (s). */
async function watched(pauses: number, listAgents: () => Promise<readonly AzureAgent[]>) {
  const stop = new AbortController();
  const asked: string[] = [];
  const paused: number[] = [];
  const clock: Clock = {
    monotonic: () => 0,
    wall: () => 0,
    scaled: (ms) => ms,
    wait: (ms) => {
      if (paused.push(ms / 1000) === pauses) stop.abort();
      return Promise.resolve();
    },
  };
  const azure = {
    findPool: () => Promise.resolve((asked.push('pool'), { id: 1, name: 'gpu' })),
    listAgents: () => (asked.push('agents'), listAgents()),
  };
  await new PoolWatch(azure, 'gpu', clock, () => undefined).run(stop.signal);
  return { asked, paused };
}

test('the pool is found once and listed once a minute, no two pauses alike', async () => {
  const { asked, paused } = await watched(200, () => Promise.resolve([]));
  expect(asked).toEqual(['pool', ...Array<string>(200).fill('agents')]);
  expect(new Set(paused).size).toBeGreaterThan(190);
  expect(Math.min(...paused)).toBeGreaterThanOrEqual(48);
  expect(Math.max(...paused)).toBeLessThanOrEqual(72);
  // Hosts that were started together are spread over the range, not over a corner of it.
  expect(Math.max(...paused) - Math.min(...paused)).toBeGreaterThan(12);
});

test('after a failure it is asked again four times as soon, spread as well', async () => {
  const { paused } = await watched(200, () => Promise.reject(new Error('away')));
  expect(new Set(paused).size).toBeGreaterThan(190);
  expect(Math.min(...paused)).toBeGreaterThanOrEqual(12);
  expect(Math.max(...paused)).toBeLessThanOrEqual(18);
});

test('eight idle slots share one listing', async () => {
  const rig = await ManagerRig.create();
  try {
    await rig.start({ agents: { kind: 'count', count: 8 } });
    await rig.until('idle', ['0', '1', '2', '3', '4', '5', '6', '7']);
    const last = (await rig.control.requests()).at(-1)?.n ?? 0;
    const listings = async () =>
      (await rig.control.requests(last)).filter(
        ({ method, path, query }) =>
          method === 'GET' && path.endsWith(`/pools/${rig.poolId}/agents`) && !query.includes('agentName'),
      ).length;
    await expect.poll(listings).toBeGreaterThanOrEqual(3);
    // Nothing is asked for single slots meanwhile.
    expect(await rig.control.requests(last)).toHaveLength(await listings());
  } finally {
    await rig.close();
  }
});
