import { expect, test } from 'vitest';
import type { Clock } from '../../../../src/shared/base/clock.ts';
import { ConnectionMemory } from '../../../../src/manager/slots/connection-memory.ts';

const start = Date.parse('2026-11-21T02:00:00Z');

/** Stands still until a test moves it. */
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

test('how long a container connects is counted from its first sight, on the clock that nobody sets', () => {
  const { memory, pass, times } = still();
  expect(memory.connectingMs('a')).toBe(0);
  pass(7000);
  times.wall += 3_600_000;
  expect(memory.connectingMs('a')).toBe(7000);
  expect(memory.connectingMs('b')).toBe(0);
});

test('a session is left for five minutes at most, counted from the end of its agent', () => {
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
])('an end that is %s leaves the whole of it', (_, since, leftS) => {
  const { memory } = still();
  memory.leave(since);
  expect(memory.left?.leftS).toBe(leftS);
});

test('an agent that was started has no session left behind', () => {
  const { memory } = still();
  memory.leave('2026-11-21T02:00:00Z');
  memory.launched();
  expect(memory.left).toBeUndefined();
});

test('an entry is made anew once in the life of a session', () => {
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

test('in practice, all of it is faster', () => {
  const { memory, pass } = still(100);
  memory.leave('2026-11-21T02:00:00Z');
  expect(memory.left).toMatchObject({ until: '2026-11-21T02:00:03Z', leftS: 300 });
  memory.connectingMs('a');
  pass(1000);
  expect(memory.connectingMs('a')).toBe(100_000);
});
