import { causeOf, isExternal } from './causes.ts';
import type { ManagerDeps } from './manager-deps.ts';

/** The shortest time between two turns of a loop with an alarm; unscaled milliseconds. */
const leastPauseMs = 2_000;

/** Wakes a loop early; several rings at once wake it once. */
export class Alarm {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Waits until the next ring, at most `ms` real milliseconds. Only one may wait at a time. */
  async wait(ms: number): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, ms));
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}

/**
 * Runs the work every `ms` unscaled milliseconds until the signal is aborted. A failure of the host, Docker, the server or
 * the network is logged only when it changes, and retried at the next turn; any other rejects. `alarm` starts a turn early.
 */
export async function repeat(
  { clock, log }: Pick<ManagerDeps, 'clock' | 'log'>,
  { ms, signal, alarm }: { readonly ms: number; readonly signal: AbortSignal; readonly alarm?: Alarm },
  work: () => Promise<void>,
): Promise<void> {
  let logged = '';
  while (!signal.aborted) {
    await work().then(
      () => (logged = ''),
      (error: unknown) => {
        if (!isExternal(error)) throw error;
        const cause = causeOf(error);
        // Not at every turn.
        if (!signal.aborted && cause.what !== logged) log.log('warn', 'a watch failed', { ...cause });
        logged = cause.what;
      },
    );
    await clock.wait(alarm === undefined ? ms : leastPauseMs, signal);
    if (!signal.aborted) await alarm?.wait(clock.scaled(ms - leastPauseMs));
  }
}
