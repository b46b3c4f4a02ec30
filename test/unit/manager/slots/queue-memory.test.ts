import { expect, test } from 'vitest';
import type { JobRequest } from '../../../../src/shared/azure/client.ts';
import { countWait, QueueMemory, queueWaitOf } from '../../../../src/manager/slots/queue-memory.ts';

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
  expect(queue.see(request(7, 0, 30))?.waitedS).toBe(30);
  expect(queue.see(request(7, 0, 30))).toBeUndefined();
  expect(queue.see(request(5, 0, 99))).toBeUndefined();
  expect(queue.see(request(8, 0, 10))?.waitedS).toBe(10);
  expect(queue.last).toEqual({ requestId: 8, waitedS: 10 });
});

test('what an earlier process has counted is not counted again, and what came after it is', async () => {
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

test('a request that tells no times yet counts when it does', () => {
  const queue = new QueueMemory();
  expect(queue.see({ requestId: 7 })).toBeUndefined();
  expect(queue.see(request(7, 0, 30))?.waitedS).toBe(30);
});
