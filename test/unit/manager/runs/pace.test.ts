import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Pace } from '../../../../src/manager/runs/log-watch.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the first request runs at once, the following ones together', () => {
  let calls = 0;
  const pace = new Pace(() => (calls += 1), 250);
  pace.request();
  expect(calls).toBe(1);
  for (let n = 0; n < 1000; n += 1) pace.request();
  expect(calls).toBe(1);
  vi.advanceTimersByTime(250);
  expect(calls).toBe(2);
  vi.advanceTimersByTime(1000);
  expect(calls).toBe(2);
  pace.request();
  expect(calls).toBe(3);
});

test('after close there are no calls and no timer', () => {
  let calls = 0;
  const pace = new Pace(() => (calls += 1), 250);
  pace.request();
  pace.request();
  pace.close();
  vi.advanceTimersByTime(1000);
  expect(calls).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});
