import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Pace } from '../../../../src/manager/runs/log-watch.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('the first is told at once, those that follow together, and later ones at once again', () => {
  let told = 0;
  const pace = new Pace(() => (told += 1), 250);
  pace.request();
  expect(told).toBe(1);
  for (let n = 0; n < 1000; n += 1) pace.request();
  expect(told).toBe(1);
  vi.advanceTimersByTime(250);
  expect(told).toBe(2);
  vi.advanceTimersByTime(1000);
  expect(told).toBe(2);
  pace.request();
  expect(told).toBe(3);
});

test('closed, it tells nothing more and holds no timer', () => {
  let told = 0;
  const pace = new Pace(() => (told += 1), 250);
  pace.request();
  pace.request();
  pace.close();
  vi.advanceTimersByTime(1000);
  expect(told).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});
