import { describe, expect, test } from 'vitest';
import { nextLook, type Looks } from '../../../../src/manager/pool/watch.ts';

const clock = { scaled: (ms: number) => ms };
const quiet: Looks = {
  at: 1_000_000,
  failingSince: undefined,
  wantedAt: undefined,
  urgent: false,
  waiting: false,
  together: false,
  // The middle of the spread.
  chance: 0.5,
};
/** Seconds after the last look. */
const after = (changes: Partial<Looks>): number =>
  Math.round((nextLook({ ...quiet, ...changes }, clock) - quiet.at) / 1000);
const ago = (s: number): number => quiet.at - s * 1000;
const then = (s: number): number => quiet.at + s * 1000;

describe('when a pool is looked at next', () => {
  test.each<[string, Partial<Looks>, number]>([
    ['nothing happens', {}, 300],
    ['something waits for the pool', { waiting: true }, 60],
    ['a person has asked for something', { urgent: true }, 0],
    ['a person has asked while it fails', { urgent: true, failingSince: ago(600) }, 0],
    ['a run ended long after the last look', { wantedAt: then(200) }, 200],
    ['a run ended right after the last look', { wantedAt: then(5) }, 60],
    ['a run ended just before the next look', { wantedAt: then(299) }, 299],
    ['a run ended, and something waits', { wantedAt: then(5), waiting: true }, 60],
    ['the look before has just failed', { failingSince: ago(0) }, 15],
    ['it fails for a minute', { failingSince: ago(60) }, 15],
    ['it fails for two minutes', { failingSince: ago(120) }, 30],
    ['it fails for a day', { failingSince: ago(86_400) }, 120],
    ['it has just been started, or the server is back', { together: true }, 150],
    ['a run ended while it fails', { failingSince: ago(60), wantedAt: then(1) }, 15],
    ['something waits while it fails', { failingSince: ago(400), waiting: true }, 100],
  ])('%s', (_, changes, seconds) => {
    expect(after(changes)).toBe(seconds);
  });

  test.each<[string, Partial<Looks>, number]>([
    ['nothing happens', {}, 300],
    ['something waits', { waiting: true }, 60],
    ['it fails', { failingSince: ago(0) }, 15],
    ['runs begin and end all the time', { wantedAt: then(0) }, 60],
  ])('a fifth sooner or later by chance: %s', (_, changes, seconds) => {
    expect(after({ ...changes, chance: 0 })).toBe(seconds * 0.8);
    expect(after({ ...changes, chance: 1 })).toBe(seconds * 1.2);
  });

  test('after a look of many at the same time the next ones are spread over the whole of it', () => {
    expect(after({ together: true, chance: 0 })).toBe(0);
    expect(after({ together: true, chance: 0.999 })).toBe(300);
    expect(after({ together: true, chance: 0.999, waiting: true })).toBe(60);
    expect(after({ together: true, chance: 0, failingSince: ago(0) })).toBe(12);
  });

  test('a fast clock has all of it sooner', () => {
    expect(nextLook(quiet, { scaled: (ms) => ms / 100 }) - quiet.at).toBe(3000);
  });
});
