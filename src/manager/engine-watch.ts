import { causeOf } from './causes.ts';
import { unscaled } from '../shared/base/clock.ts';
import type { ManagerTools } from './manager-tools.ts';

const firstPauseMs = 200;
const longestPauseMs = 5_000;

/**
 * Listens to the engine's events and wakes the loop on each that matters. The stream ends when dockerd restarts: it
 * is opened again, after the engine's abilities have been learnt anew, and the loop looks at everything.
 */
export async function watchEngine(
  tools: ManagerTools,
  wake: () => void,
  learn: () => Promise<void>,
): Promise<void> {
  const { engine, signal, clock, log } = tools;
  let pause = firstPauseMs;
  while (!signal.aborted) {
    try {
      await learn();
      wake();
      for await (const event of engine.events(signal)) {
        pause = firstPauseMs;
        if (relevant.has(event.action)) wake();
      }
      if (!signal.aborted) log.log('info', 'the event stream of Docker ended; opening it again');
    } catch (error) {
      log.log('warn', 'no events from Docker', { ...causeOf(error) });
    }
    // Reconnecting is not one of the server's slow rules.
    await clock.wait(unscaled(clock, pause), signal);
    pause = Math.min(pause * 2, longestPauseMs);
  }
}

const relevant = new Set(['die', 'destroy', 'start', 'oom', 'pause', 'unpause']);
