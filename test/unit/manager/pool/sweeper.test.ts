import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { AzureError } from '../../../../src/shared/azure/http/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Capabilities } from '../../../../src/shared/contract/paths.ts';
import { repeat } from '../../../../src/manager/alarm.ts';
import { rememberNames } from '../../../../src/manager/pool/own-agents.ts';
import { Pools } from '../../../../src/manager/pool/watch.ts';
import { type AgentRun, Sweeper } from '../../../../src/manager/pool/sweeper.ts';
import { StateStore } from '../../../../src/manager/state.ts';
import { sweepMs } from '../../../../src/manager/watches.ts';
import { SimulatedClock, StillClock } from '../../../support/clock.ts';
import { tokenClient } from '../../../support/token-client.ts';
import { plainSlot } from '../../../support/slot.ts';

const directory = mkdtempSync(join(tmpdir(), 'sweeper-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const newState = () => StateStore.open(mkdtempSync(join(directory, 'state-')), 'machine-1');
const minute = 60_000;

/** A manager with slot box-0 in pool 1; the pool also has box-1, whose slot is gone. */
class Host {
  readonly clock = new SimulatedClock();
  readonly deletedAt: number[] = [];
  readonly reads = { lists: 0, agents: 0 };
  runs: readonly AgentRun[] = [];
  /** What the server shows now. */
  shown: (now: number) => Partial<AzureAgent> | undefined = () => ({});
  readonly #state: StateStore;

  constructor(state: StateStore) {
    this.#state = state;
  }

  get #agent(): AzureAgent | undefined {
    const changes = this.deletedAt.length > 0 ? undefined : this.shown(this.clock.monotonic());
    if (changes === undefined) return undefined;
    const userCapabilities = { [Capabilities.owner]: this.#state.owner };
    return { id: 12, name: 'box-1', enabled: true, status: 'offline', userCapabilities, ...changes };
  }

  /** Runs the pool's watch and the sweeper for this time. */
  async run(ms: number): Promise<void> {
    const { clock, reads } = this;
    const stop = new AbortController();
    const azure = {
      ...tokenClient('https://dev.azure.com/lab', '/none', clock, stop.signal),
      findPool: async (name: string) => ({ id: 1, name }),
      findAgent: async () => {
        reads.agents += 1;
        return this.#agent;
      },
      deleteAgent: async () => {
        if (this.#agent?.assignedRequest !== undefined) return false;
        this.deletedAt.push(clock.monotonic());
        return true;
      },
    };
    const own = {
      list: async () => {
        reads.lists += 1;
        return new Map(this.#agent === undefined ? [] : [['box-1', this.#agent]]);
      },
    };
    const pools = new Pools(azure, own, ['gpu-lab'], clock, () => undefined);
    const sweeper = new Sweeper({ azure, clock, log: silentLogger, state: this.#state }, own, pools);
    const slots = [{ ...plainSlot, agent: 'box-0', pool: 'gpu-lab' }];
    const running = Promise.all([
      pools.run(
        stop.signal,
        () => slots,
        () => [],
      ),
      repeat({ clock, log: silentLogger }, { ms: sweepMs, signal: stop.signal }, () =>
        sweeper.round(slots, this.runs),
      ),
    ]);
    await clock.pass(ms);
    stop.abort();
    await running;
  }
}

async function host(changes: Partial<Pick<Host, 'shown' | 'runs'>> = {}): Promise<Host> {
  const state = await newState();
  // What the rounds would write: the simulated clock does not wait for files.
  await rememberNames(state, 1, ['box-0', 'box-1']);
  await state.note(() => ({ pools: [1] }));
  return Object.assign(new Host(state), changes);
}

describe('an agent whose slot is gone', () => {
  test('is removed within a minute of the start, by one read and one deletion', async () => {
    const one = await host();
    await one.run(minute);
    expect(one.deletedAt).toHaveLength(1);
    expect(one.reads.agents).toBe(1);
  });

  test('is removed within a minute after the server gives up a job that it lost', async () => {
    const endsAt = 14 * minute;
    const job = { assignedRequest: { requestId: 7 } };
    const one = await host({ shown: (now) => (now < endsAt ? job : {}) });
    await one.run(endsAt + minute);
    expect(one.deletedAt).toEqual([expect.toSatisfy((at: number) => at >= endsAt)]);
  });

  test('is not read while its container exists: the end of the run removes it', async () => {
    const one = await host({ runs: [{ agent: 'BOX-1', poolId: 1 }], shown: () => ({ status: 'online' }) });
    await one.run(4 * minute);
    expect([one.deletedAt, one.reads.agents]).toEqual([[], 0]);
  });

  test.each<[string, Partial<AzureAgent> | undefined]>([
    ['another owner has its name', { userCapabilities: { [Capabilities.owner]: 'other' } }],
    ['it is online', { status: 'online' }],
    ['it is gone', undefined],
  ])('is kept when the second read shows that %s', async (_, then) => {
    const one = await host({ shown: (now) => (now < 20_000 ? {} : then) });
    await one.run(3 * minute);
    expect(one.deletedAt).toEqual([]);
  });

  test('costs nothing once it is removed, nor if it never was: the pool is listed as seldom as before', async () => {
    const one = await host();
    const none = await host({ shown: () => undefined });
    for (const each of [one, none]) await each.run(60 * minute);
    expect([one.reads.agents, none.reads.agents]).toEqual([1, 0]);
    // Five minutes on average, and the first ones are spread.
    for (const { reads } of [one, none]) expect(reads.lists).toBeLessThanOrEqual(17);
  });
});

/** What a pool shows that slots have left, list by list; five minutes lie between two. */
type Left = 'ours' | 'no owner' | 'filtered out' | 'no pool';

/** Runs rounds of a host whose slot moved from pool 1 to another. Returns deleted ids, and the lists that were read. */
async function sweepLeft(lists: readonly Left[], runs: readonly AgentRun[] = []) {
  const state = await newState();
  await rememberNames(state, 1, ['box-a']);
  const deleted: number[] = [];
  let read = 0;
  let shown: Left = 'ours';
  const found = () => {
    if (shown === 'no pool') throw notFound;
    const userCapabilities = shown === 'no owner' ? {} : { [Capabilities.owner]: state.owner };
    const agent: AzureAgent = { id: 11, name: 'box-a', enabled: true, status: 'offline', userCapabilities };
    return shown === 'filtered out' || deleted.length > 0 ? [] : [agent];
  };
  const clock = new StillClock();
  const azure = {
    ...tokenClient('https://dev.azure.com/lab', '/none', clock, new AbortController().signal),
    findAgent: async () => found()[0],
    deleteAgent: async (_: number, id: number) => deleted.push(id) > 0,
  };
  const present = { pool: { id: 2, name: 'nightly' }, at: 0, agents: () => [] };
  const pools = { all: [present], of: () => present } as unknown as Pools;
  const own = {
    list: async (id: number, _: readonly string[], earlier: readonly string[]) => {
      if (id === 1) read += 1;
      return new Map(id === 1 && earlier.includes('box-a') ? found().map((each) => [each.name, each]) : []);
    },
  };
  const sweeper = new Sweeper({ azure, clock, log: silentLogger, state }, own, pools);
  for (const each of lists) {
    shown = each;
    await sweeper.round([{ ...plainSlot, agent: 'box-b' }], runs);
    clock.pass(5 * minute);
  }
  return { deleted, read };
}
const notFound = new AzureError(
  { code: 'azure.not-found', what: 'no such pool', next: 'create it' },
  { status: 404, typeKey: 'TaskAgentPoolNotFoundException' },
);

describe('an agent in a pool that its slot has left', () => {
  test('is removed if its slot left the pool before the first round', async () => {
    expect(await sweepLeft(['ours', 'ours'])).toMatchObject({ deleted: [11] });
  });

  // Found by the model, seed 12: a person had removed the owner, and the manager wrote it back after the pool was forgotten.
  test.each<[string, Left]>([
    ['is shown without an owner', 'no owner'],
    ['is not found by its owner', 'filtered out'],
  ])('is removed if it %s for a while', async (_, first) => {
    expect(await sweepLeft([first, 'ours', 'ours'])).toMatchObject({ deleted: [11] });
  });

  test.each<[string, Left, number]>([
    ['two lists show no agent of ours', 'filtered out', 2],
    ['the pool is gone', 'no pool', 2],
    ['it has the owner of no installation', 'no owner', 6],
  ])('is looked for every five minutes, until %s', async (_, shown, read) => {
    expect(await sweepLeft(Array.from({ length: 6 }, () => shown))).toEqual({ deleted: [], read });
  });

  test('is looked for while a container of it exists', async () => {
    const lists = Array.from({ length: 4 }, (): Left => 'filtered out');
    expect(await sweepLeft(lists, [{ agent: 'box-a', poolId: 1 }])).toEqual({ deleted: [], read: 4 });
  });
});
