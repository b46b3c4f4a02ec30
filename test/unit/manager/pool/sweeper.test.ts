import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Capabilities } from '../../../../src/shared/contract/paths.ts';
import { rememberNames } from '../../../../src/manager/pool/own-agents.ts';
import type { Pools } from '../../../../src/manager/pool/watch.ts';
import { Sweeper } from '../../../../src/manager/pool/sweeper.ts';
import { StateStore } from '../../../../src/manager/state.ts';
import { StillClock } from '../../../support/clock.ts';
import { tokenClient } from '../../../support/token-client.ts';
import { plainSlot } from '../../../support/slot.ts';

const directory = mkdtempSync(join(tmpdir(), 'sweeper-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/**
 * Runs rounds of a host whose slot moved from pool 1 to another pool, five minutes apart. `owners`: the owner of its old
 * agent, by round. Returns the ids of deleted agents.
 */
async function sweepLeft(owners: readonly ('ours' | 'none')[]) {
  const state = await StateStore.open(mkdtempSync(join(directory, 'state-')), 'machine-1');
  await rememberNames(state, 1, ['box-a']);
  const left = (owner: 'ours' | 'none'): AzureAgent => ({
    id: 11,
    name: 'box-a',
    enabled: true,
    status: 'offline',
    userCapabilities: owner === 'ours' ? { [Capabilities.owner]: state.owner } : {},
  });
  const deleted: number[] = [];
  const clock = new StillClock();
  const azure = {
    ...tokenClient('https://dev.azure.com/lab', '/none', clock, new AbortController().signal),
    deleteAgent: async (_: number, id: number) => deleted.push(id) > 0,
  };
  const present = { pool: { id: 2, name: 'nightly' }, at: 0, agents: () => [], setWaiting: () => undefined };
  const pools = { all: [present], of: () => present } as unknown as Pools;
  const now = { owner: owners[0] ?? 'ours' };
  // The answers of a server that ignores the owner filter.
  const own = {
    list: async (id: number, _: readonly string[], earlier: readonly string[]) =>
      new Map(id === 1 && earlier.includes('box-a') ? [['box-a', left(now.owner)]] : []),
  };
  const sweeper = new Sweeper({ azure, clock, log: silentLogger, state }, own, pools);
  for (const owner of owners) {
    now.owner = owner;
    await sweeper.round([{ ...plainSlot, agent: 'box-b' }], [1]);
    clock.pass(5 * 60_000);
  }
  return deleted;
}

test('an agent is removed if its slot left the pool before the first round', async () => {
  expect(await sweepLeft(['ours', 'ours'])).toEqual([11]);
});

test('an agent is removed if its owner capability was missing for a while', async () => {
  expect(await sweepLeft(['none', 'ours', 'ours'])).toEqual([11]);
});

test.each([
  ['every five minutes while our agent there is online', 'online' as const, [0, 5, 10]],
  ['every minute while our agent there may be removed soon', 'offline' as const, [0, 1, 2, 3]],
])('a pool without slots is read %s', async (_, status, expected) => {
  const state = await StateStore.open(mkdtempSync(join(directory, 'state-')), 'machine-1');
  const clock = new StillClock();
  const userCapabilities = { [Capabilities.owner]: state.owner };
  const agent: AzureAgent = { id: 11, name: 'box-a', enabled: true, status, userCapabilities };
  const azure = {
    ...tokenClient('https://dev.azure.com/lab', '/none', clock, new AbortController().signal),
    deleteAgent: async () => false,
  };
  const present = { pool: { id: 2, name: 'nightly' }, at: 0, agents: () => [], setWaiting: () => undefined };
  const pools = { all: [present], of: () => present } as unknown as Pools;
  const readAt: number[] = [];
  const own = {
    list: async () => {
      readAt.push(clock.monotonic() / 60_000);
      return new Map([['box-a', agent]]);
    },
  };
  const sweeper = new Sweeper({ azure, clock, log: silentLogger, state }, own, pools);
  for (let minute = 0; minute <= (expected.at(-1) ?? 0); minute += 1) {
    // A container of ours has pool 1 in its labels.
    await sweeper.round([{ ...plainSlot, agent: 'box-b' }], [1]);
    clock.pass(60_000);
  }
  expect(readAt).toEqual(expected);
});
