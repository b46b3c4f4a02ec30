import { describe, expect, test } from 'vitest';
import { nextRead, type ReadSchedule } from '../../../../src/manager/pool/watch.ts';

const clock = { scaled: (ms: number) => ms };
const quiet: ReadSchedule = {
  at: 1_000_000,
  failingSince: undefined,
  requestedAt: undefined,
  urgent: false,
  waiting: false,
  inStep: false,
  // The middle of the spread.
  random: 0.5,
};
/** Returns the seconds from the last read to the next. */
const after = (changes: Partial<ReadSchedule>): number =>
  Math.round((nextRead({ ...quiet, ...changes }, clock) - quiet.at) / 1000);
const ago = (s: number): number => quiet.at - s * 1000;
const then = (s: number): number => quiet.at + s * 1000;

describe('the next read of a pool', () => {
  test.each<[string, Partial<ReadSchedule>, number]>([
    ['no events', {}, 300],
    ['a part waits for the pool', { waiting: true }, 60],
    ['a command', { urgent: true }, 0],
    ['a command while reads fail', { urgent: true, failingSince: ago(600) }, 0],
    ['a run ended long after the last read', { requestedAt: then(200) }, 200],
    ['a run ended right after the last read', { requestedAt: then(5) }, 60],
    ['a run ended just before the next read', { requestedAt: then(299) }, 299],
    ['a run ended, and a part waits', { requestedAt: then(5), waiting: true }, 60],
    ['the last read failed', { failingSince: ago(0) }, 15],
    ['reads fail for a minute', { failingSince: ago(60) }, 15],
    ['reads fail for two minutes', { failingSince: ago(120) }, 30],
    ['reads fail for a day', { failingSince: ago(86_400) }, 120],
    ['the first read, or the first success after failures', { inStep: true }, 150],
    ['a run ended while reads fail', { failingSince: ago(60), requestedAt: then(1) }, 15],
    ['a part waits while reads fail', { failingSince: ago(400), waiting: true }, 100],
  ])('%s', (_, changes, seconds) => {
    expect(after(changes)).toBe(seconds);
  });

  test.each<[string, Partial<ReadSchedule>, number]>([
    ['no events', {}, 300],
    ['a part waits', { waiting: true }, 60],
    ['reads fail', { failingSince: ago(0) }, 15],
    ['runs begin and end all the time', { requestedAt: then(0) }, 60],
  ])('is randomly up to a fifth sooner or later, at most 315 s: %s', (_, changes, seconds) => {
    expect(after({ ...changes, random: 0 })).toBe(seconds * 0.8);
    expect(after({ ...changes, random: 1 })).toBe(Math.min(seconds * 1.2, 315));
  });

  test('is spread over the whole interval if many hosts read in step', () => {
    expect(after({ inStep: true, random: 0 })).toBe(0);
    expect(after({ inStep: true, random: 0.999 })).toBe(300);
    expect(after({ inStep: true, random: 0.999, waiting: true })).toBe(60);
    expect(after({ inStep: true, random: 0, failingSince: ago(0) })).toBe(12);
  });

  test('is sooner on an accelerated clock', () => {
    expect(nextRead(quiet, { scaled: (ms) => ms / 100 }) - quiet.at).toBe(3000);
  });
});
