import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

import type { AzureAgent } from '../../../../src/azure/client.ts';
import { silentLogger } from '../../../../src/base/log.ts';
import { Capabilities } from '../../../../src/contract/paths.ts';
import { rememberNames } from '../../../../src/manager/pool/names.ts';
import type { Pools } from '../../../../src/manager/pool/pools.ts';
import { Sweeper } from '../../../../src/manager/pool/sweeper.ts';
import { StateStore } from '../../../../src/manager/state.ts';
import { StillClock } from '../../../support/clock.ts';
import { tokenClient } from '../../../support/token-client.ts';
import { plainSlot } from '../../../support/slot.ts';

const directory = mkdtempSync(join(tmpdir(), 'sweeper-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('an agent goes whose slot left its pool before a round had seen it there', async () => {
  const state = await StateStore.open(directory, 'machine-1');
  await rememberNames(state, 1, ['box-a']);
  const left: AzureAgent = {
    id: 11,
    name: 'box-a',
    enabled: true,
    status: 'offline',
    userCapabilities: { [Capabilities.owner]: state.owner },
  };
  const deleted: number[] = [];
  const clock = new StillClock();
  const azure = {
    ...tokenClient('https://dev.azure.com/lab', '/none', clock, new AbortController().signal),
    deleteAgent: async (_: number, id: number) => deleted.push(id) > 0,
  };
  const present = { pool: { id: 2, name: 'nightly' }, at: 0, agents: () => [], wait: () => undefined };
  const pools = { all: [present], of: () => present } as unknown as Pools;
  const own = { list: async (id: number) => new Map(id === 1 ? [['box-a', left]] : []) };
  const sweeper = new Sweeper({ azure, clock, log: silentLogger, state }, own, pools);
  for (const ms of [0, 4 * 60_000]) {
    clock.pass(ms);
    await sweeper.round([{ ...plainSlot, agent: 'box-b' }], []);
  }
  expect(deleted).toEqual([11]);
});
