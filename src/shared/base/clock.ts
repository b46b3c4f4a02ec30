import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Time as the programs see it. Entry points create it (`practiceOf` of ./practice.ts); tests stop it, let the wall clock
 * jump, or make it faster. Nothing else reads the machine's clocks.
 */
export interface Clock {
  /**
   * Milliseconds that only grow and cannot be set: for deadlines, back-off, ages and durations. Each process has its own
   * zero, so never store or send them. "Long ago" is -Infinity.
   */
  monotonic(): number;
  /**
   * Milliseconds since the epoch by the machine's clock, right or wrong: for texts that people read, and to compare with
   * times of other clocks. It may jump at any time.
   */
  wall(): number;
  /** Waits a number of unscaled milliseconds; ends early, without an error, when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
  /** Returns the real milliseconds that an unscaled duration takes on this clock. */
  scaled(ms: number): number;
}

/** Returns the argument of a wait that takes this many real milliseconds, whatever the speed of the clock. */
export function unscaled(clock: Clock, realMs: number): number {
  return realMs / clock.scaled(1);
}

/** Returns the machine's clocks, with every wait divided by `speed`; it is 1 except in practice. */
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

/** Seconds before the next start, by the number of failures in a row. */
const steps: readonly number[] = [0, 5, 10, 20, 40, 80, 160, 320];
const capS = 600;

/** Returns the unscaled milliseconds to wait after the nth failure in a row, n from 1. */
export function backoffMs(failures: number): number {
  return failures <= 0 ? 0 : (steps[failures - 1] ?? capS) * 1000;
}
