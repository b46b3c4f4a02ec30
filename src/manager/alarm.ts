import { causeOf } from './causes.ts';
import type { ManagerDeps } from './manager-deps.ts';

/** The least time between two turns, however often the alarm rings; unscaled milliseconds. */
const leastPauseMs = 2_000;

/** Wakes a loop before its time; rings that come together wake it once. */
export class Alarm {
  #rung = false;
  #answer: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#answer?.();
  }

  /** Waits until the next ring, at most `ms` real milliseconds. Only one may wait at a time. */
  async wait(ms: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, ms));
        this.#answer = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#answer = undefined;
    }
    this.#rung = false;
  }
}

/**
 * Does the work every `ms` unscaled milliseconds until the signal is aborted; what goes wrong is logged once and tried
 * again at the next turn. `alarm` asks for that turn before its time.
 */
export async function repeat(
  { clock, log }: Pick<ManagerDeps, 'clock' | 'log'>,
  { ms, signal, alarm }: { readonly ms: number; readonly signal: AbortSignal; readonly alarm?: Alarm },
  work: () => Promise<void>,
): Promise<void> {
  let complaint = '';
  while (!signal.aborted) {
    await work().then(
      () => (complaint = ''),
      (error: unknown) => {
        const cause = causeOf(error);
        // Said once, not at every turn.
        if (!signal.aborted && cause.what !== complaint) log.log('warn', 'a watch failed', { ...cause });
        complaint = cause.what;
      },
    );
    await clock.wait(alarm === undefined ? ms : leastPauseMs, signal);
    if (!signal.aborted) await alarm?.wait(clock.scaled(ms - leastPauseMs));
  }
}
