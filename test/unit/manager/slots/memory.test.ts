import { expect, test } from 'vitest';
import { backoffMs } from '../../../../src/shared/base/clock.ts';
import { failedOn, proved, wantedImage } from '../../../../src/manager/image/choice.ts';
import { SlotMemory } from '../../../../src/manager/slots/memory.ts';
import { StillClock } from '../../../support/clock.ts';

const cause = { code: 'bug', what: 'x', next: 'x' } as const;

test('pauses grow from nothing to ten minutes', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 9, 50].map((n) => backoffMs(n) / 1000)).toEqual([
    0, 5, 10, 20, 40, 80, 160, 320, 600, 600,
  ]);
});

test('a job that ran ends the row of failures; one that only listened does not', () => {
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

test('waiting for the server is no failure and is asked again soon', () => {
  const memory = new SlotMemory(new StillClock());
  const pauses = Array.from({ length: 9 }, () => {
    memory.notYet(cause);
    return memory.notBefore;
  });
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  expect(memory.failures).toBe(0);
});

test('what the server showed before our own change does not count', () => {
  const clock = new StillClock(10);
  const memory = new SlotMemory(clock);
  memory.disabledFor = 'drained';
  expect(memory.disabled({ reason: undefined, at: 5 })).toBe('drained');
  clock.pass(10);
  expect(memory.disabled({ reason: undefined, at: 15 })).toBeUndefined();
});

test('an image is given up after three failures in a row, but only for one that worked', () => {
  expect(failedOn({ proven: 'old' }, 'new', 2)).toBeUndefined();
  expect(failedOn({ proven: 'old' }, 'new', 3)).toEqual({ proven: 'old', rejected: 'new' });
  expect(failedOn({}, 'new', 9)).toBeUndefined();
  expect(failedOn({ proven: 'new' }, 'new', 9)).toBeUndefined();
  expect(wantedImage('new', { proven: 'old', rejected: 'new' })).toBe('old');
  expect(wantedImage('newer', { proven: 'old', rejected: 'new' })).toBe('newer');
  expect(proved({ proven: 'old', rejected: 'new' }, 'new')).toEqual({ proven: 'new' });
});
