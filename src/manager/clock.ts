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
