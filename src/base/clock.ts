import { setTimeout as sleep } from 'node:timers/promises';

/** Time as the manager sees it: tests hold it still, practice runs make it faster. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Waits a number of unscaled milliseconds; ends early, without an error, when the signal is aborted. */
  wait(ms: number, signal?: AbortSignal): Promise<void>;
  /** An unscaled duration as it passes on this clock, in real milliseconds. */
  scaled(ms: number): number;
}

/** What a wait has to be told so that it takes this many real milliseconds, however fast the clock runs. */
export function unscaled(clock: Clock, realMs: number): number {
  return realMs / clock.scaled(1);
}

/** Real time, every wait divided by `scale`. */
export function systemClock(scale: number): Clock {
  const scaled = (ms: number): number => ms / scale;
  return {
    now: () => Date.now(),
    scaled,
    wait: async (ms, signal) => {
      const options = signal === undefined ? {} : { signal };
      await sleep(scaled(ms), undefined, options).catch(() => undefined);
    },
  };
}

/** Seconds before the next launch after so many failures in a row. */
const steps: readonly number[] = [0, 5, 10, 20, 40, 80, 160, 320];
const capS = 600;

/** Unscaled milliseconds to wait after the n-th failure in a row, n from 1. */
export function backoffMs(failures: number): number {
  return failures <= 0 ? 0 : (steps[failures - 1] ?? capS) * 1000;
}
