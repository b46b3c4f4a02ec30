// Waits of the agent.
import { setTimeout as delay } from 'node:timers/promises';

/** Returns false if it was aborted before the end. `ms` are the practice server's: its clock may be fast. */
export function pause(ms, speed, signal) {
  return delay(ms / speed, true, { signal }).catch((error) => {
    if (error.name === 'AbortError') return false;
    throw error;
  });
}

export const between = (from, to) => from + Math.random() * (to - from);
