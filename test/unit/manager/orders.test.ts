import { expect, test } from 'vitest';
import { plainSlot as slot } from '../../support/slot.ts';

import type { OwnContainer } from '../../../src/shared/engine/engine.ts';
import type { Action, Slot } from '../../../src/manager/model.ts';
import { decide, type Grounds } from '../../../src/manager/orders.ts';

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

interface Scene extends Omit<Grounds, 'wanted' | 'pool'> {
  readonly pool: typeof pool | undefined;
  readonly slots: readonly Slot[];
  readonly image: string | undefined;
}
const everything: Scene = { slots: [slot], containers: [container], pool, image: 'image' };

function decided(action: Action, changes: Partial<Scene> = {}) {
  const { slots, image: id, pool: found, ...rest } = { ...everything, ...changes };
  const images = new Map(slots.map(({ name }) => [name, { id, source: 'agent:1', unproven: false }]));
  const wanted = { slots, images, hostProgram: 'agent', settings: new Map() };
  return decide(action, { wanted, ...rest, pool: (name) => (name === found?.name ? found : undefined) });
}

const of = (name: string) => ({ slot: name, container: 'c', reason: 'fan' });
const launch: Action = { kind: 'launch', slot: '0' };
const collect: Action = { kind: 'collect', slot: '0', container: 'c' };
const discard: Action = { kind: 'discard', slot: '0', container: 'c' };
const retire: Action = { kind: 'retire', ...of('0') };
const disable: Action = { kind: 'disable', slot: '0', reason: 'fan' };
const enable: Action = { kind: 'enable', slot: '0' };
const endKey: Action = { kind: 'end-key', slot: '0' };
const publish: Action = { kind: 'publish', slot: '0' };

test.each([
  [launch, { kind: 'launch', slot, image: 'image', pool }],
  [collect, { kind: 'collect', container, poolId: 1 }],
  [discard, { kind: 'discard', container }],
  [retire, { kind: 'retire', container, reason: 'fan', poolId: 1 }],
  [disable, { kind: 'disable', slot, reason: 'fan', pool }],
  [enable, { kind: 'enable', slot, pool }],
  [endKey, { kind: 'end-key', slot, pool }],
  [publish, { kind: 'publish', slot, pool }],
])('with everything there: $kind', (action, order) => {
  expect(decided(action)).toEqual({ order });
});

test.each<[string, Action, Partial<Scene>, string]>([
  ['launch, the slot is gone', launch, { slots: [] }, 'the slot is no longer configured'],
  ['launch without an image', launch, { image: undefined }, 'the agent image is not ready yet'],
  ['launch, the pool is unknown', launch, { pool: undefined }, 'the pool has not been found yet'],
  ['collect, the container is gone', collect, { containers: [] }, 'the container has gone meanwhile'],
  ['discard, the container is gone', discard, { containers: [] }, 'the container has gone meanwhile'],
  ['retire, the container is gone', retire, { containers: [] }, 'the container has gone meanwhile'],
  ['retire, the pool is unknown', retire, { pool: undefined }, 'the pool has not been found yet'],
  ['disable, the slot is gone', disable, { slots: [] }, 'the slot is no longer configured'],
  ['disable, the pool is unknown', disable, { pool: undefined }, 'the pool has not been found yet'],
  ['enable, the slot is gone', enable, { slots: [] }, 'the slot is no longer configured'],
  ['enable, the pool is unknown', enable, { pool: undefined }, 'the pool has not been found yet'],
  ['end-key, the slot is gone', endKey, { slots: [] }, 'the slot is no longer configured'],
  ['end-key, the pool is unknown', endKey, { pool: undefined }, 'the pool has not been found yet'],
  ['publish, the slot is gone', publish, { slots: [] }, 'the slot is no longer configured'],
  ['publish, the pool is unknown', publish, { pool: undefined }, 'the pool has not been found yet'],
])('what it lacks is said: %s', (_, action, changes, what) => {
  expect(decided(action, changes)).toEqual({ lacks: expect.objectContaining({ what }) as object });
});

test.each<[string, Action, Partial<Scene>]>([
  [
    'a stray is collected, though its slot is gone',
    collect,
    { slots: [], image: undefined, pool: undefined },
  ],
  [
    'a stray is stopped, though its slot is gone',
    retire,
    { slots: [], image: undefined, pool: undefined, containers: [inPool2] },
  ],
  ['a slot on the host needs no image', launch, { slots: [bare], image: undefined }],
])('what is not needed may be missing: %s', (_, action, changes) => {
  expect(decided(action, changes)).toHaveProperty('order.kind', action.kind);
});

test('an agent is stopped in the pool that it is in, though its slot has left that one', () => {
  expect(decided(retire, { containers: [inPool2] })).toEqual({
    order: { kind: 'retire', container: inPool2, reason: 'fan', poolId: 2 },
  });
});
