import { expect, test } from 'vitest';
import { backoffMs, type Clock } from '../../../../src/shared/base/clock.ts';
import { afterFailures, afterSuccess, desiredImage } from '../../../../src/manager/image/choice.ts';
import {
  SlotMemory,
  SlotBook,
  ConnectionMemory,
  countWait,
  QueueMemory,
  queueWaitOf,
} from '../../../../src/manager/slots/memory.ts';
import { StillClock } from '../../../support/clock.ts';
import type { JobRequest } from '../../../../src/shared/azure/client.ts';
import { fault } from '../../../support/fault.ts';

const cause = { code: 'bug', what: 'x', next: 'x' } as const;

test('pauses grow from zero to ten minutes', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 50].map((n) => backoffMs(n) / 1000)).toEqual([
    0, 5, 10, 20, 40, 80, 160, 320, 600, 600,
  ]);
});

test('a job resets the count of failures; an agent that only listens does not', () => {
  const memory = new SlotMemory(new StillClock());
  memory.failed(cause);
  memory.failed(cause);
  expect(memory.notBefore).toBe(5000);
  memory.listens();
  expect([memory.failures, memory.cause]).toEqual([2, undefined]);
  memory.ended({ ranJob: true, job: 'a' });
  memory.failed(cause);
  expect(memory.notBefore).toBe(0);
});

test('waiting for the server is not a failure and is retried soon', () => {
  const memory = new SlotMemory(new StillClock());
  const pauses = Array.from({ length: 9 }, () => {
    memory.notYet(cause);
    return memory.notBefore;
  });
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  expect(memory.failures).toBe(0);
});

test('a state of the pool from before our change does not count', () => {
  const clock = new StillClock(10);
  const memory = new SlotMemory(clock);
  memory.disabledFor = 'drained';
  expect(memory.disabled({ reason: undefined, at: 5 })).toBe('drained');
  clock.pass(10);
  expect(memory.disabled({ reason: undefined, at: 15 })).toBeUndefined();
});

fault('not-the-image', 'an image is rejected after three failures in a row, if another one worked', () => {
  expect(afterFailures({ proven: 'old' }, 'new', 2)).toBeUndefined();
  expect(afterFailures({ proven: 'old' }, 'new', 3)).toEqual({ proven: 'old', rejected: 'new' });
  expect(afterFailures({}, 'new', 9)).toBeUndefined();
  expect(afterFailures({ proven: 'new' }, 'new', 9)).toBeUndefined();
  expect(desiredImage('new', { proven: 'old', rejected: 'new' })).toBe('old');
  expect(desiredImage('newer', { proven: 'old', rejected: 'new' })).toBe('newer');
  expect(afterSuccess({ proven: 'old', rejected: 'new' }, 'new')).toEqual({ proven: 'new' });
});

// Observed on a busy machine: the engine's list from before a container was started arrived after its agent had taken a
// job. The container seemed never started, and was removed with the job.
test('an observation of a slot is outdated when an operation on it has ended', () => {
  const book = new SlotBook(new StillClock());
  book.of('0').operations += 1;
  const hasChanged = book.changedSince();
  expect(hasChanged('0')).toBe(false);
  book.of('0').operations += 1;
  book.of('new').operations += 1;
  expect(['0', '1', 'new'].map(hasChanged)).toEqual([true, false, true]);
});

const start = Date.parse('2026-11-21T02:00:00Z');

/** Returns a clock that only `pass` moves. */
function still(speed = 1) {
  const times = { monotonic: 1000, wall: start };
  const clock: Clock = {
    monotonic: () => times.monotonic,
    wall: () => times.wall,
    scaled: (ms) => ms / speed,
    wait: () => Promise.resolve(),
  };
  const pass = (ms: number): void => {
    times.monotonic += ms;
    times.wall += ms;
  };
  return { memory: new ConnectionMemory(clock), pass, times };
}

test('the connecting time of a container is measured from its first observation, on the monotonic clock', () => {
  const { memory, pass, times } = still();
  expect(memory.connectingMs('a')).toBe(0);
  pass(7000);
  times.wall += 3_600_000;
  expect(memory.connectingMs('a')).toBe(7000);
  expect(memory.connectingMs('b')).toBe(0);
});

test('a session is left for at most five minutes after the end of its agent', () => {
  const { memory, pass } = still();
  expect(memory.left).toBeUndefined();
  memory.leave('2026-11-21T01:59:00Z');
  expect(memory.left).toEqual({ until: '2026-11-21T02:04:00Z', leftS: 240, mayRenew: true });
  pass(239_000);
  expect(memory.left).toMatchObject({ until: '2026-11-21T02:04:00Z', leftS: 1 });
  pass(1000);
  expect(memory.left).toBeUndefined();
});

test.each([
  ['in the future', '2027-01-01T00:00:00Z', 300],
  ['not a time', 'x', 300],
])('an end that is %s counts as now', (_, since, leftS) => {
  const { memory } = still();
  memory.leave(since);
  expect(memory.left?.leftS).toBe(leftS);
});

test('a started agent has no left session', () => {
  const { memory } = still();
  memory.leave('2026-11-21T02:00:00Z');
  memory.launched();
  expect(memory.left).toBeUndefined();
});

test('an entry is created again once in the lifetime of a session', () => {
  const { memory, pass } = still();
  memory.leave('2026-11-21T02:00:00Z');
  memory.renewed();
  expect(memory.left).toBeUndefined();
  pass(10_000);
  memory.leave('2026-11-21T02:00:10Z');
  expect(memory.left?.mayRenew).toBe(false);
  pass(290_000);
  memory.leave('2026-11-21T02:05:00Z');
  expect(memory.left?.mayRenew).toBe(true);
});

test('on an accelerated clock the times are shorter', () => {
  const { memory, pass } = still(100);
  memory.leave('2026-11-21T02:00:00Z');
  expect(memory.left).toMatchObject({ until: '2026-11-21T02:00:03Z', leftS: 300 });
  memory.connectingMs('a');
  pass(1000);
  expect(memory.connectingMs('a')).toBe(100_000);
});

const at = (seconds: number): string => new Date(1_790_000_000_000 + seconds * 1000).toISOString();
const request = (requestId: number, queued: number, taken: number): JobRequest => ({
  requestId,
  queueTime: at(queued),
  assignTime: at(taken),
});

test.each<[string, JobRequest | undefined, number | undefined]>([
  ['no request', undefined, undefined],
  ['until the agent had it', { ...request(1, 0, 60), receiveTime: at(63.5) }, 63.5],
  ['assigned, and not yet received', request(1, 0, 60), 60],
  ['taken at once', request(1, 0, 0), 0],
  ['no time of its arrival', { requestId: 1, assignTime: at(1) }, undefined],
  ['no agent has it yet', { requestId: 1, queueTime: at(1) }, undefined],
  ['taken before it was queued', request(1, 60, 0), undefined],
  ['longer than a year', request(1, 0, 400 * 86_400), undefined],
  ['no times', { requestId: 1, queueTime: 'yesterday', assignTime: 'today' }, undefined],
  ['no number', { ...request(1, 0, 1), requestId: Number.NaN }, undefined],
])('how long a job waited: %s', (_, given, expected) => {
  expect(queueWaitOf(given)?.waitedS).toBe(expected);
});

test('each request counts once; an older one does not count', () => {
  const queue = new QueueMemory();
  expect(queue.newWait(request(7, 0, 30))?.waitedS).toBe(30);
  expect(queue.newWait(request(7, 0, 30))).toBeUndefined();
  expect(queue.newWait(request(5, 0, 99))).toBeUndefined();
  expect(queue.newWait(request(8, 0, 10))?.waitedS).toBe(10);
  expect(queue.last).toEqual({ requestId: 8, waitedS: 10 });
});

test('requests that an earlier process counted are not counted again', async () => {
  const counted: Record<string, number> = {};
  const observed: number[] = [];
  const books = {
    metrics: { queued: (_: string, waitedS: number) => void observed.push(waitedS) },
    state: {
      value: { counted },
      note: async (change: (state: { counted: Record<string, number> }) => object) =>
        void Object.assign(counted, (change({ counted }) as { counted: object }).counted),
    },
  };
  const slot = { name: '0', pool: 'gpus' };
  await countWait(books, slot, new QueueMemory(), request(7, 0, 30));
  const later = new QueueMemory();
  await countWait(books, slot, later, request(7, 0, 30));
  await countWait(books, slot, later, request(8, 0, 40));
  await countWait(books, { ...slot, name: '1' }, new QueueMemory(), request(5, 0, 50));
  expect(observed).toEqual([30, 40, 50]);
  expect(counted).toEqual({ '0': 8, '1': 5 });
});

test('a request counts when it has times', () => {
  const queue = new QueueMemory();
  expect(queue.newWait({ requestId: 7 })).toBeUndefined();
  expect(queue.newWait(request(7, 0, 30))?.waitedS).toBe(30);
});
