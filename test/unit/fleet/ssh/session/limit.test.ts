import { afterEach, beforeEach, expect, test, vi } from 'vitest';

import { Limit } from '../../../../../src/fleet/ssh/session/limit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function limited() {
  const expire = vi.fn<() => void>();
  return { expire, limit: new Limit(1000, expire) };
}

test('it ends once, at its time; each start is a new one', () => {
  const { expire, limit } = limited();
  vi.advanceTimersByTime(5000);
  limit.start();
  vi.advanceTimersByTime(999);
  limit.start();
  vi.advanceTimersByTime(999);
  expect(expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5000);
  expect(expire).toHaveBeenCalledTimes(1);
});

test('it stands still while somebody types, and begins anew then', () => {
  const { expire, limit } = limited();
  limit.start();
  const resume = limit.pause();
  vi.advanceTimersByTime(60_000);
  resume();
  vi.advanceTimersByTime(999);
  expect(expire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(expire).toHaveBeenCalledTimes(1);
});

test('what was stopped meanwhile does not begin again, and what never ran neither', () => {
  const { expire, limit } = limited();
  limit.pause()();
  limit.start();
  const resume = limit.pause();
  limit.stop();
  resume();
  vi.advanceTimersByTime(60_000);
  expect(expire).not.toHaveBeenCalled();
});
