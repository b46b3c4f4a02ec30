import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { AzureError } from '../../../../src/shared/azure/http/errors.ts';
import { PoolWatch } from '../../../../src/manager/pool/watch.ts';
import { SimulatedClock } from '../../../support/clock.ts';

const minute = 60_000;
const agent = (name: string): AzureAgent => ({ id: 1, name, enabled: true, status: 'online' });

/** A watch that runs on a clock of its own; what it asked, each with its second. */
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
    /** Seconds of the looks since the last time. */
    looks: () => asked.splice(0).flatMap(({ what, s }) => (what === 'pool' ? [] : [s])),
    end: async () => {
      stop.abort();
      await running;
    },
  };
}

// By chance a look comes late, but for the test that is about chance.
beforeEach(() => void vi.spyOn(Math, 'random').mockReturnValue(0.9));
afterEach(() => vi.restoreAllMocks());

describe('a watch', () => {
  test('finds the pool once, and looks every five minutes, no two pauses alike', async () => {
    vi.restoreAllMocks();
    const { clock, asked, looks, end } = watched();
    await clock.pass(100 * 5 * minute);
    expect(asked.filter(({ what }) => what === 'pool')).toHaveLength(1);
    const at = looks();
    const all = at.slice(1).map((s, index) => s - (at[index] ?? 0));
    const [first = 0, ...pauses] = all;
    expect(first).toBeLessThanOrEqual(300);
    expect(pauses.length).toBeGreaterThan(90);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(240);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(361);
    // Hosts that were started together are spread over the range, not over a corner of it.
    expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(60);
    await end();
  });

  test('looks at once for a person, and no two times for one wish', async () => {
    const { clock, watch, looks, end } = watched();
    await clock.pass(10_000);
    watch.lookSoon();
    watch.lookSoon();
    await clock.pass(60_000);
    expect(looks()).toEqual([0, 10]);
    await end();
  });

  test('runs that begin and end share looks: the first is at once, then one a minute', async () => {
    const { clock, watch, looks, end } = watched();
    await clock.pass(3 * minute);
    looks();
    for (let second = 0; second < 180; second += 1) {
      watch.lookAfter(5000);
      await clock.pass(1000);
    }
    const [first, ...others] = looks();
    expect(first).toBe(185);
    expect(others.length).toBeLessThanOrEqual(4);
    expect(others.length).toBeGreaterThanOrEqual(2);
    await end();
  });

  test('looks each minute while slots wait for it, and no more than that when they do not', async () => {
    const { clock, watch, looks, end } = watched();
    await clock.pass(1000);
    watch.wait('slots', true);
    await clock.pass(10 * minute);
    expect(looks().length).toBeGreaterThanOrEqual(9);
    watch.wait('slots', false);
    await clock.pass(4 * minute);
    expect(looks()).toEqual([]);
    await end();
  });

  test('after a failure it looks again soon, later the longer it lasts, and at once for a person', async () => {
    const { clock, watch, server, looks, end } = watched();
    server.listed = () => Promise.reject(new Error('away'));
    await clock.pass(minute);
    expect(looks().length).toBeGreaterThanOrEqual(4);
    watch.doubt();
    await clock.pass(1);
    expect(looks()).toEqual([]);
    await clock.pass(60 * minute);
    const seen = looks().length;
    expect(seen).toBeGreaterThan(25);
    expect(seen).toBeLessThan(50);
    watch.lookSoon();
    await clock.pass(1);
    expect(looks()).toHaveLength(1);
    await end();
  });

  test('a call that fails has the pool looked at, which tells whether it is the pool', async () => {
    const { clock, watch, server, looks, end } = watched();
    await clock.pass(1000);
    server.listed = () => Promise.reject(new AzureError({ code: 'azure.not-found', what: 'gone' }));
    watch.doubt();
    await clock.pass(1);
    expect(looks()).toEqual([0, 1]);
    expect([watch.problem?.code, watch.pool]).toEqual(['azure.not-found', undefined]);
    await end();
  });

  test('slots that come to be known are asked for at once; of names that were not asked for nothing is said', async () => {
    const names: string[] = [];
    const { clock, watch, looks, end } = watched({ names });
    await clock.pass(1000);
    expect([watch.lacks('h-1'), watch.lacks('h-0')]).toEqual([false, false]);
    names.push('h-0', 'H-1');
    watch.cover(names);
    watch.cover(names);
    await clock.pass(1000);
    watch.cover(names);
    await clock.pass(1000);
    expect(looks()).toEqual([0, 1]);
    expect([watch.lacks('h-1'), watch.lacks('h-0')]).toEqual([true, false]);
    await end();
  });
});
