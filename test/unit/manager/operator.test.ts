import { expect, test } from 'vitest';
import { plainSlot as slot } from '../../support/slot.ts';

import { silentLogger } from '../../../src/shared/base/log.ts';
import type { ManagerTools } from '../../../src/manager/manager-tools.ts';
import type { Action, Wanted } from '../../../src/manager/model.ts';
import { Operator } from '../../../src/manager/operator.ts';
import type { LogWatch } from '../../../src/manager/runs/log-watch.ts';
import { SlotBook } from '../../../src/manager/slots/memory.ts';
import type { Watches } from '../../../src/manager/watches.ts';
import type { TenantWatch } from '../../../src/manager/tenants/watch.ts';
import { StillClock } from '../../support/clock.ts';

const clock = new StillClock();
/** Nothing is there but a configured slot: what the operator would touch beyond that does not exist. */
function operator(book: SlotBook) {
  const tools = { clock, log: silentLogger } as unknown as ManagerTools;
  const around = { pools: { named: () => ({ pool: undefined }) } } as unknown as Watches;
  return new Operator(
    tools,
    around,
    book,
    {} as LogWatch,
    {} as TenantWatch,
    () => [],
    () => undefined,
  );
}

const wanted: Wanted = {
  slots: [slot],
  images: new Map([['0', { id: 'image', source: 'agent:1', unproven: false }]]),
  hostProgram: 'agent',
  settings: new Map(),
};

test.each<[Action, string]>([
  [{ kind: 'collect', slot: '0', container: 'c' }, 'the container has gone meanwhile'],
  [{ kind: 'discard', slot: '0', container: 'c' }, 'the container has gone meanwhile'],
  [{ kind: 'retire', slot: '0', container: 'c', reason: 'fan' }, 'the container has gone meanwhile'],
  [{ kind: 'disable', slot: '0', reason: 'fan' }, 'the pool has not been found yet'],
])('$kind that cannot be begun is said and tried again later, with growing pauses', async (action, what) => {
  const book = new SlotBook(clock);
  const memory = book.of('0');
  const pauses: number[] = [];
  const subject = operator(book);
  for (let turn = 0; turn < 3; turn += 1) {
    subject.begin(action, { wanted, containers: [] });
    await subject.settled();
    expect(memory.cause?.what).toBe(what);
    pauses.push(memory.retryAt);
  }
  expect(pauses).toEqual([1000, 2000, 4000]);
  expect(memory.busyWith).toBeUndefined();
});

test.each<[string, Partial<Wanted>, string]>([
  ['without an image', { images: new Map() }, 'the agent image is not ready yet'],
  ['while the pool is unknown', {}, 'the pool has not been found yet'],
])('a launch %s waits, and is no failure of the slot', async (_, changes, what) => {
  const book = new SlotBook(clock);
  const subject = operator(book);
  subject.begin({ kind: 'launch', slot: '0' }, { wanted: { ...wanted, ...changes }, containers: [] });
  await subject.settled();
  const memory = book.of('0');
  expect(memory.waitingFor?.what).toBe(what);
  expect(memory.notBefore).toBe(500);
  expect(memory.failures).toBe(0);
});
