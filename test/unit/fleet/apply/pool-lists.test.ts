import { describe, expect, test } from 'vitest';

import { poolLists } from '../../../../src/fleet/apply/pool-lists.ts';
import type { AzureAgent, AzureClient } from '../../../../src/shared/azure/client.ts';
import { SimulatedClock, StillClock } from '../../../support/clock.ts';

const host = (name: string) => ({ names: [`${name}-0`], owner: name });

/** Creates a pool of this size; logs each request with its second. */
function pool(size: number) {
  const clock = new SimulatedClock();
  const asked: { readonly what: string; readonly s: number }[] = [];
  const note = (what: string) => asked.push({ what, s: clock.monotonic() / 1000 });
  const server = { status: 'offline' as AzureAgent['status'], size };
  const client = {
    findPool: async () => (note('pool'), { id: 1, name: 'gpu', size: server.size }),
    listAgents: async (_: number, { owner }: { owner?: string } = {}) => {
      note(owner ?? 'all');
      return (owner === undefined ? ['h1', 'h2'] : [owner]).map((name) => ({
        id: 1,
        name: `${name}-0`,
        enabled: true,
        status: server.status,
        userCapabilities: { 'azp-fleet.owner': name },
      }));
    },
    findAgent: async (_: number, name: string) => void note(name),
  } as Partial<AzureClient> as AzureClient;
  return {
    clock,
    server,
    lists: poolLists(client, clock),
    asked: () => asked.splice(0).filter(({ what }) => what !== 'pool'),
    pools: () => asked.filter(({ what }) => what === 'pool').length,
  };
}

describe('a small pool', () => {
  test('an agent that comes online between two requests is seen; simultaneous requests cost one call', async () => {
    const { clock, server, lists, asked } = pool(16);
    const seen = async () => (await lists.of('gpu', host('h1'))).get('h1-0')?.status;
    expect(await Promise.all([seen(), seen(), lists.of('gpu', host('h2')).then(() => 'offline')])).toEqual([
      'offline',
      'offline',
      'offline',
    ]);
    expect(asked().map(({ what }) => what)).toEqual(['all']);
    server.status = 'online';
    await clock.pass(2000);
    expect(await seen()).toBe('online');
  });

  test('a missing pool is searched for again', async () => {
    const clock = new StillClock();
    let calls = 0;
    const client = { findPool: async () => void (calls += 1) } as Partial<AzureClient> as AzureClient;
    const lists = poolLists(client, clock);
    expect((await lists.of('gpu', host('h1'))).size).toBe(0);
    expect((await lists.of('gpu', host('h1'))).size).toBe(0);
    expect(calls).toBe(2);
  });
});

describe('a pool of 8,000', () => {
  test('gets two calls a second after the first twenty, shared by the hosts that wait', async () => {
    const { clock, lists, asked, pools } = pool(8000);
    const hosts = Array.from({ length: 20 }, (_, index) => host(`h${index}`));
    const polls = hosts.map(async (each) => {
      // A proof requests the list again a second after its answer.
      while (clock.monotonic() < 60_000) {
        await lists.of('gpu', each);
        await clock.wait(1000);
      }
    });
    await clock.pass(60_000);
    const during = pools();
    const all = asked();
    expect(all.every(({ what }) => what !== 'all')).toBe(true);
    expect(all.length).toBeLessThanOrEqual(142);
    expect(all.length).toBeGreaterThan(100);
    const first = all.filter(({ what }) => what === 'h0').map(({ s }) => s);
    expect(first.length).toBeGreaterThanOrEqual(5);
    expect(during).toBeLessThanOrEqual(2);
    await clock.pass(60_000);
    await Promise.all(polls);
  });

  test('gets a call every two seconds for the agents of a single host', async () => {
    const { clock, lists, asked } = pool(8000);
    for (let s = 0; s < 10; s += 1) {
      await Promise.all([lists.of('gpu', host('h1')), clock.pass(1000)]);
    }
    expect(asked().map(({ what }) => what)).toEqual(['h1', 'h1', 'h1', 'h1', 'h1']);
  });

  test('is listed whole if a quarter of it waits, at most every 20 s', async () => {
    const { clock, lists, asked } = pool(8000);
    const hosts = Array.from({ length: 250 }, (_, index) => ({
      names: Array.from({ length: 8 }, (__, slot) => `h${index}-${slot}`),
      owner: `h${index}`,
    }));
    for (let s = 0; s < 60; s += 1) {
      await Promise.all(hosts.map((each) => lists.of('gpu', each)));
      await clock.pass(1000);
    }
    const all = asked();
    expect(all.filter(({ what }) => what === 'all').map(({ s }) => s)).toEqual([0, 20, 40]);
    expect(all).toHaveLength(3);
  });
});

test('hosts that wait for their own call get the list of the whole pool once a quarter of it waits', async () => {
  const { clock, lists, asked } = pool(300);
  const answeredAt: number[] = [];
  const all = Array.from({ length: 300 }, async (_, index) => {
    await clock.wait(index * 10);
    await lists.of('gpu', host(`h${index}`));
    answeredAt.push(clock.monotonic() / 1000);
  });
  await clock.pass(60_000);
  await Promise.all(all);
  expect(Math.max(...answeredAt)).toBeLessThan(5);
  expect(asked().length).toBeLessThan(30);
});

test('expected hosts count: one list answers the first of them', async () => {
  const { lists, asked } = pool(300);
  for (let index = 0; index < 80; index += 1) lists.expect('gpu', host(`h${index}`));
  await lists.of('gpu', host('h1'));
  expect(asked().map(({ what }) => what)).toEqual(['all']);
});

test('a few hosts of a large pool are answered at once', async () => {
  const { clock, lists, asked } = pool(8000);
  await Promise.all(Array.from({ length: 20 }, (_, index) => lists.of('gpu', host(`h${index}`))));
  expect(clock.monotonic()).toBe(0);
  expect(asked()).toHaveLength(20);
});
