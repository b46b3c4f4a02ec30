import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { AzureError } from '../../../../src/shared/azure/http/errors.ts';
import { Pools, PoolWatch } from '../../../../src/manager/pool/watch.ts';
import { SimulatedClock } from '../../../support/clock.ts';

const minute = 60_000;
const agent = (name: string): AzureAgent => ({ id: 1, name, enabled: true, status: 'online' });

/** Starts a watch on a simulated clock; returns its calls, each with its second. */
function watched({ names = ['h-0'] }: { readonly names?: string[] } = {}) {
  const clock = new SimulatedClock();
  const asked: { readonly what: string; readonly s: number }[] = [];
  const server = { listed: async () => new Map([['h-0', agent('h-0')]]) };
  const note = (what: string) => asked.push({ what, s: Math.round(clock.monotonic() / 1000) });
  const azure = {
    findPool: async () => (note('pool'), { id: 1, name: 'gpu' }),
    list: async (_: number, now: readonly string[]) => (note(now.join()), server.listed()),
  };
  const stop = new AbortController();
  const watch = new PoolWatch(azure, azure, 'gpu', clock, () => undefined);
  const running = watch.run(stop.signal, () => ({ now: names, earlier: [] }));
  return {
    watch,
    clock,
    asked,
    server,
    /** Returns the seconds of the reads since the last call. */
    reads: () => asked.splice(0).flatMap(({ what, s }) => (what === 'pool' ? [] : [s])),
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

// Reads are late, except in the test of the random spread.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.9));
afterEach(() => vi.restoreAllMocks());

describe('a watch', () => {
  test('finds the pool once, and reads about every five minutes', async () => {
    vi.restoreAllMocks();
    const { clock, asked, reads, end } = watched();
    await clock.pass(100 * 5 * minute);
    expect(asked.filter(({ what }) => what === 'pool')).toHaveLength(1);
    const at = reads();
    const all = at.slice(1).map((s, index) => s - (at[index] ?? 0));
    const [first = 0, ...pauses] = all;
    expect(first).toBeLessThanOrEqual(300);
    expect(pauses.length).toBeGreaterThan(90);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(240);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(361);
    // Hosts that were started inStep are spread over the range, not over a corner of it.
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(60);
    await end();
  });

  test('reads at once on request, once for several requests', async () => {
    const { clock, watch, reads, end } = watched();
    await clock.pass(10_000);
    watch.readSoon();
    watch.readSoon();
    await clock.pass(60_000);
    expect(reads()).toEqual([0, 10]);
    await end();
  });

  test('reads soon after a run, then at most once a minute', async () => {
    const { clock, watch, reads, end } = watched();
    await clock.pass(3 * minute);
    reads();
    for (let second = 0; second < 180; second += 1) {
      watch.readAfter(5000);
      await clock.pass(1000);
    }
    const [first, ...others] = reads();
    expect(first).toBe(185);
    expect(others.length).toBeLessThanOrEqual(4);
    expect(others.length).toBeGreaterThanOrEqual(2);
    await end();
  });

  test('reads every minute while slots wait for it', async () => {
    const { clock, watch, reads, end } = watched();
    await clock.pass(1000);
    watch.setWaiting(true);
    await clock.pass(10 * minute);
    expect(reads().length).toBeGreaterThanOrEqual(9);
    watch.setWaiting(false);
    await clock.pass(4 * minute);
    expect(reads()).toEqual([]);
    await end();
  });

  test('reads again after a failure with growing pauses, and at once on request', async () => {
    const { clock, watch, server, reads, end } = watched();
    server.listed = () => Promise.reject(new Error('unreachable'));
    await clock.pass(minute);
    expect(reads().length).toBeGreaterThanOrEqual(4);
    watch.readOnFailure();
    await clock.pass(1);
    expect(reads()).toEqual([]);
    await clock.pass(60 * minute);
    const seen = reads().length;
    expect(seen).toBeGreaterThan(25);
    expect(seen).toBeLessThan(50);
    watch.readSoon();
    await clock.pass(1);
    expect(reads()).toHaveLength(1);
    await end();
  });

  test('reads at once after another call failed', async () => {
    const { clock, watch, server, reads, end } = watched();
    await clock.pass(1000);
    server.listed = () => Promise.reject(new AzureError({ code: 'azure.not-found', what: 'gone' }));
    watch.readOnFailure();
    await clock.pass(1);
    expect(reads()).toEqual([0, 1]);
    expect([watch.problem?.code, watch.pool]).toEqual(['azure.not-found', undefined]);
    await end();
  });

  test('reads new names at once; names that were not read are unknown', async () => {
    const names: string[] = [];
    const { clock, watch, reads, end } = watched({ names });
    await clock.pass(1000);
    expect([watch.lacks('h-1'), watch.lacks('h-0')]).toEqual([false, false]);
    names.push('h-0', 'H-1');
    watch.readIfNew(names);
    watch.readIfNew(names);
    await clock.pass(1000);
    watch.readIfNew(names);
    await clock.pass(1000);
    expect(reads()).toEqual([0, 1]);
    expect([watch.lacks('h-1'), watch.lacks('h-0')]).toEqual([true, false]);
    await end();
  });
});

test('when the connection is back, only pools that could not be read are read again', async () => {
  const clock = new SimulatedClock();
  let asked: string[] = [];
  const azure = {
    findPool: async (name: string) => {
      asked.push(name);
      if (name === 'lost') throw new Error('unreachable');
      return { id: 1, name };
    },
    list: async () => new Map<string, AzureAgent>(),
  };
  const pools = new Pools(azure, azure, ['well', 'lost'], clock, () => undefined);
  const stop = new AbortController();
  const running = pools.run(
    stop.signal,
    () => [],
    () => [],
  );
  await clock.pass(100);
  asked = [];
  pools.readFailed();
  await clock.pass(1);
  expect(asked).toEqual(['lost']);
  stop.abort();
  await running;
});
