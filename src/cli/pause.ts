import { usageError } from '../shared/base/errors.ts';

/** Waits between two looks; an interruption ends it with what then goes on without us. */
export function pause(ms: number, signal: AbortSignal, goesOn: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(usageError({ code: 'interrupted', what: `interrupted; ${goesOn}` }));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal.addEventListener('abort', stop, { once: true });
  });
}
