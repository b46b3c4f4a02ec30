import { expect, test } from 'vitest';
import type { JobRequest } from '../../../../src/azure/client.ts';
import { QueueMemory, queueWaitOf } from '../../../../src/manager/slots/queue-memory.ts';

const at = (seconds: number): string => new Date(1_790_000_000_000 + seconds * 1000).toISOString();
const request = (requestId: number, queued: number, taken: number): JobRequest => ({
  requestId,
  queueTime: at(queued),
  assignTime: at(taken),
});

test.each<[string, JobRequest | undefined, number | undefined]>([
  ['nothing is shown', undefined, undefined],
  ['until the agent had it', { ...request(1, 0, 60), receiveTime: at(63.5) }, 63.5],
  ['assigned, and not yet received', request(1, 0, 60), 60],
  ['taken at once', request(1, 0, 0), 0],
  ['no time of its arrival', { requestId: 1, assignTime: at(1) }, undefined],
  ['nobody has it yet', { requestId: 1, queueTime: at(1) }, undefined],
  ['taken before it came', request(1, 60, 0), undefined],
  ['longer than a year', request(1, 0, 400 * 86_400), undefined],
  ['no times', { requestId: 1, queueTime: 'yesterday', assignTime: 'today' }, undefined],
  ['no number', { ...request(1, 0, 1), requestId: Number.NaN }, undefined],
])('how long a job waited: %s', (_, given, expected) => {
  expect(queueWaitOf(given)?.waitedS).toBe(expected);
});

test('each request counts once, whichever look shows it, and an older one that a lagging read brings not at all', () => {
  const queue = new QueueMemory();
  expect(queue.see(request(7, 0, 30), true)?.waitedS).toBe(30);
  expect(queue.see(request(7, 0, 30), true)).toBeUndefined();
  expect(queue.see(request(5, 0, 99), true)).toBeUndefined();
  expect(queue.see(request(8, 0, 10), true)?.waitedS).toBe(10);
  expect(queue.last).toEqual({ requestId: 8, waitedS: 10 });
});

test('a job that began before this process did is remembered and not counted again', () => {
  const queue = new QueueMemory();
  expect(queue.see(request(7, 0, 30), false)).toBeUndefined();
  expect(queue.see(request(7, 0, 30), true)).toBeUndefined();
  expect(queue.last).toBeUndefined();
});

test('a request that tells no times yet counts when it does', () => {
  const queue = new QueueMemory();
  expect(queue.see({ requestId: 7 }, true)).toBeUndefined();
  expect(queue.see(request(7, 0, 30), true)?.waitedS).toBe(30);
});
