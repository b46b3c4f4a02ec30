import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Time as the programs see it. The entry points make it (`practiceOf` of ./practice.ts); tests hold it still, let the
 * wall clock jump, or make it faster. Nothing else reads the machine's clocks.
 */
export interface Clock {
  /**
   * Milliseconds that only grow and that nobody sets: for deadlines, back-off, ages and durations. Their zero means
   * nothing, and another process has another one: never kept, never sent, "long ago" is -Infinity.
   */
  monotonic(): number;
  /**
   * Milliseconds since the epoch as the machine has them, right or wrong: for what people read, and to compare with
   * what somebody else's clock wrote. It may jump at any time.
   */
  wall(): number;
  /** Waits a number of unscaled milliseconds; ends early, without an error, when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
  /** An unscaled duration as it passes on this clock, in real milliseconds. */
  scaled(ms: number): number;
}

/** Returns the argument of a wait that takes this many real milliseconds, whatever the speed of the clock. */
export function unscaled(clock: Clock, realMs: number): number {
  return realMs / clock.scaled(1);
}

/** The machine's clocks, every wait divided by `speed`, which is 1 but in practice. */
export function systemClock(speed: number): Clock {
  const scaled = (ms: number): number => ms / speed;
  return {
    monotonic: () => performance.now(),
    wall: () => Date.now(),
    scaled,
    wait: async (ms, signal) => {
      const options = signal === undefined ? {} : { signal };
      await sleep(scaled(ms), undefined, options).catch(() => undefined);
    },
  };
}

/** Returns the wall time for people: ISO 8601, UTC. */
export function timestamp({ wall }: Pick<Clock, 'wall'>): string {
  return new Date(wall()).toISOString();
}

/** Seconds before the next launch after so many failures in a row. */
const steps: readonly number[] = [0, 5, 10, 20, 40, 80, 160, 320];
const capS = 600;

/** Unscaled milliseconds to wait after the n-th failure in a row, n from 1. */
export function backoffMs(failures: number): number {
  return failures <= 0 ? 0 : (steps[failures - 1] ?? capS) * 1000;
}
