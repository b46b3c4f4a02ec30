import timers from 'node:timers';
import { afterAll, vi } from 'vitest';

// Files share a process: a timer function that one leaves replaced never fires in the next, which hangs.
afterAll(() => {
  if (vi.isFakeTimers() || globalThis.setTimeout !== timers.setTimeout)
    throw new Error('this file, or the spies that it restored, left setTimeout replaced');
});
