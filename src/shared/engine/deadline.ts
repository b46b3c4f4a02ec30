import { engineFault } from './fault.ts';

/** Milliseconds a call may take. A pooled request on a dead connection never returns by itself. */
export const deadlines = {
  short: 15_000,
  /** Creating and removing wait for the disk. */
  normal: 60_000,
  /** Images come over the network. */
  image: 3_600_000,
} as const;

/**
 * Aborted after so many milliseconds. Unlike AbortSignal.timeout it keeps the process alive until then: on a connection
 * that died silently this timer may be all that is left.
 */
export function deadline(ms: number): { readonly signal: AbortSignal; clear: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('no answer in time', 'TimeoutError')), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** Runs one call with a deadline and turns what it throws into a typed problem. */
export async function bounded<T>(
  doing: string,
  deadlineMs: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { signal, clear } = deadline(deadlineMs);
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
  try {
    return await Promise.race([call(signal), late]);
  } catch (error) {
    throw engineFault(error, doing);
  } finally {
    clear();
  }
}
