import { expect, test } from 'vitest';
import { plainSlot as slot } from '../../support/slot.ts';

import type { OwnContainer } from '../../../src/shared/engine/engine.ts';
import { silentLogger } from '../../../src/shared/base/log.ts';
import { Actions, lookUp, type ActionParts } from '../../../src/manager/actions.ts';
import type { Action, Slot, Desired } from '../../../src/manager/model.ts';
import { SlotBook } from '../../../src/manager/slots/memory.ts';
import type { State } from '../../../src/manager/state.ts';
import { StillClock } from '../../support/clock.ts';
import { config } from '../../support/manager-config.ts';

const bare: Slot = { ...slot, mode: 'host' };
const container: OwnContainer = {
  id: 'c',
  name: 'box-0',
  state: 'running',
  labels: {},
  image: 'image',
  created: 0,
};
const inPool2 = { ...container, labels: { 'azp-fleet.pool-id': '2' } };
const pool = { id: 1, name: 'gpu-lab' };

interface World {
  readonly pool: typeof pool | undefined;
  readonly slots: readonly Slot[];
  readonly containers: readonly OwnContainer[];
  readonly image: string | undefined;
  /** Of the only pool that shows the container's agent. */
  readonly poolWithAgent?: number;
}
const everything: World = { slots: [slot], containers: [container], pool, image: 'image' };

function observed({ slots, image: id, containers }: World): {
  desired: Desired;
  containers: typeof containers;
} {
  const images = new Map(slots.map(({ name }) => [name, { id, source: 'agent:1', unproven: false }]));
  return { desired: { slots, images, hostProgram: 'agent', settings: new Map() }, containers };
}

function found(action: Action, changes: Partial<World> = {}) {
  const world = { ...everything, ...changes };
  return lookUp(action, observed(world), {
    named: (name) => (name === world.pool?.name ? world.pool : undefined),
    idWith: () => world.poolWithAgent,
  });
}

const launch: Action = { kind: 'launch', slot: '0' };
const collect: Action = { kind: 'collect', slot: '0', container: 'c' };
const discard: Action = { kind: 'discard', slot: '0', container: 'c' };
const retire: Action = { kind: 'retire', slot: '0', container: 'c', reason: 'fan' };
const disable: Action = { kind: 'disable', slot: '0', reason: 'fan' };
const enable: Action = { kind: 'enable', slot: '0' };
const endKey: Action = { kind: 'end-key', slot: '0' };
const publish: Action = { kind: 'publish', slot: '0' };

test.each([
  [launch, { slot, image: 'image', pool }],
  [collect, { container, poolId: 1 }],
  [discard, { container }],
  [retire, { container, poolId: 1 }],
  [disable, { slot, pool }],
  [enable, { slot, pool }],
  [endKey, { slot, pool }],
  [publish, { slot, pool }],
])('with all objects: $kind', (action, targets) => {
  expect(found(action)).toMatchObject({ targets });
});

test.each<[string, Action, Partial<World>, string]>([
  ['launch, no slot', launch, { slots: [] }, 'the slot is no longer configured'],
  ['launch without an image', launch, { image: undefined }, 'the agent image is not ready yet'],
  ['launch, the pool is unknown', launch, { pool: undefined }, 'the pool has not been found yet'],
  ['collect, no container', collect, { containers: [] }, 'the container no longer exists'],
  ['discard, no container', discard, { containers: [] }, 'the container no longer exists'],
  ['retire, no container', retire, { containers: [] }, 'the container no longer exists'],
  ['retire, the pool is unknown', retire, { pool: undefined }, 'the pool has not been found yet'],
  [
    'retire, no slot, and no pool has the agent',
    retire,
    { slots: [] },
    'its agent is in no known pool, so it may run a job and is left alone',
  ],
  ['disable, no slot', disable, { slots: [] }, 'the slot is no longer configured'],
  ['disable, the pool is unknown', disable, { pool: undefined }, 'the pool has not been found yet'],
  ['enable, no slot', enable, { slots: [] }, 'the slot is no longer configured'],
  ['enable, the pool is unknown', enable, { pool: undefined }, 'the pool has not been found yet'],
  ['end-key, no slot', endKey, { slots: [] }, 'the slot is no longer configured'],
  ['end-key, the pool is unknown', endKey, { pool: undefined }, 'the pool has not been found yet'],
  ['publish, no slot', publish, { slots: [] }, 'the slot is no longer configured'],
  ['publish, the pool is unknown', publish, { pool: undefined }, 'the pool has not been found yet'],
])('the status shows what an action lacks: %s', (_, action, changes, what) => {
  expect(found(action, changes)).toEqual({ lacks: expect.objectContaining({ what }) as object });
});

test.each<[string, Action, Partial<World>]>([
  [
    'collecting a container whose slot was removed',
    collect,
    { slots: [], image: undefined, pool: undefined },
  ],
  [
    'stopping a container whose slot was removed',
    retire,
    { slots: [], image: undefined, pool: undefined, containers: [inPool2] },
  ],
  [
    'stopping a container of an earlier version whose slot was removed',
    retire,
    { slots: [], image: undefined, pool: undefined, poolWithAgent: 3 },
  ],
  ['launching a slot with mode: host, without an image', launch, { slots: [bare], image: undefined }],
])('an action begins without objects that it does not need: %s', (_, action, changes) => {
  expect(found(action, changes)).toHaveProperty('targets');
});

test.each([retire, collect])(
  '$kind acts in the pool of the agent, even after its slot has moved',
  (action) => {
    expect(found(action, { containers: [inPool2] })).toMatchObject({ targets: { poolId: 2 } });
  },
);

const clock = new StillClock();
/** Actions on a host with a configured slot and nothing else: any effect would fail. */
function actions(book: SlotBook): Actions {
  const parts = {
    tools: { clock, log: silentLogger },
    watches: { pools: { named: () => ({ pool: undefined }) } },
    book,
    slots: () => [],
  } as unknown as ActionParts;
  return new Actions(parts, () => undefined);
}

test.each<[Action, string]>([
  [collect, 'the container no longer exists'],
  [discard, 'the container no longer exists'],
  [retire, 'the container no longer exists'],
  [disable, 'the pool has not been found yet'],
])('$kind that cannot begin is reported and retried with growing pauses', async (action, what) => {
  const book = new SlotBook(clock);
  const memory = book.of('0');
  const pauses: number[] = [];
  const subject = actions(book);
  for (let turn = 0; turn < 3; turn += 1) {
    subject.begin(action, observed({ ...everything, containers: [] }));
    await subject.settled();
    expect(memory.cause?.what).toBe(what);
    pauses.push(memory.retryAt);
  }
  expect(pauses).toEqual([1000, 2000, 4000]);
  expect(memory.busyWith).toBeUndefined();
});

test.each<[string, Partial<World>, string]>([
  ['without an image', { image: undefined }, 'the agent image is not ready yet'],
  ['while the pool is unknown', {}, 'the pool has not been found yet'],
])('a launch %s waits, without a failure of the slot', async (_, changes, what) => {
  const book = new SlotBook(clock);
  const subject = actions(book);
  subject.begin(launch, observed({ ...everything, ...changes }));
  await subject.settled();
  const memory = book.of('0');
  expect(memory.waitingFor?.what).toBe(what);
  expect(memory.notBefore).toBe(500);
  expect(memory.failures).toBe(0);
});

/** Collects three runs in a row whose agents exited before they listened. Returns the rejected image. */
async function rejectedAfter(exit: { readonly code: number; readonly oomKilled: boolean }) {
  const { image } = slot;
  let state = { image: { proven: 'old' }, slotImages: {}, jobsRun: {} } as Pick<State, 'image'>;
  const known = [slot];
  const book = new SlotBook(clock);
  const parts = {
    tools: {
      clock,
      log: silentLogger,
      config: config({ image }),
      engine: {
        exit: async () => ({ ...exit, startedAt: '', finishedAt: '' }),
        logs: async () => '',
        readTails: async () => [],
        removeUnlessRunning: async () => 'removed',
      },
      runStore: { add: async () => undefined, find: async () => undefined },
      history: { useOf: () => undefined, runEnded: () => undefined },
      metrics: { runEnded: () => undefined },
      state: {
        get value() {
          return state;
        },
        note: async (change: (before: typeof state) => Partial<typeof state>) => {
          state = { ...state, ...change(state) };
        },
      },
    },
    watches: {
      pools: {
        named: () => ({ pool: undefined }),
        idWith: () => undefined,
        of: () => ({ problem: undefined }),
        runChanged: () => undefined,
      },
    },
    otherProcesses: { ended: async () => undefined },
    logs: { of: () => undefined },
    book,
    slots: () => known,
  } as unknown as ActionParts;
  const subject = new Actions(parts, () => undefined);
  for (const id of ['c1', 'c2', 'c3']) {
    const labels = { 'azp-fleet.slot': '0', 'azp-fleet.image-digest': 'new' };
    const ended: OwnContainer = { ...container, id, state: 'exited', labels };
    subject.begin(
      { kind: 'collect', slot: '0', container: id },
      observed({ ...everything, containers: [ended] }),
    );
    await subject.settled();
  }
  return state.image.rejected;
}

test.each([
  ['its agents exit at once', { code: 1, oomKilled: false }, 'new'],
  ['the memory limit is exceeded', { code: 137, oomKilled: true }, undefined],
  ['another program kills the agents', { code: 137, oomKilled: false }, undefined],
])('a new image after three failed runs, when %s', async (_, exit, rejected) => {
  expect(await rejectedAfter(exit)).toBe(rejected);
});
