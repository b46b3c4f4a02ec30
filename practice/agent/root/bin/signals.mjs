// Effects of signals on the listener.
import { constants } from 'node:os';
import { say } from './say.mjs';

const names = ['SIGINT', 'SIGQUIT', 'SIGTERM'];

/** The names out of the mask that /proc shows as SigIgn. */
export function ignoredSignals(mask) {
  const bits = BigInt(`0x${mask}`);
  return names.filter((name) => (bits >> BigInt(constants.signals[name] - 1)) & 1n);
}

/**
 * SIGINT ends version 4 and 5 in order. SIGTERM ends version 4 in order; of version 5 (.NET 10) it leaves the default
 * disposition, and the process dies of it at once. One that was ignored at the start stays ignored.
 * @returns {{signal: AbortSignal, code: () => number}} `code`: what to exit with, once told to stop
 */
export function stopSignals(line, ignored) {
  const stop = new AbortController();
  let code = 0;
  const on = (name, react) => process.on(name, ignored.includes(name) ? () => undefined : react);
  on('SIGINT', () => {
    say('exiting');
    stop.abort();
  });
  if (line < 5 || ignored.includes('SIGTERM'))
    on('SIGTERM', () => {
      code = 128 + constants.signals.SIGTERM;
      stop.abort();
    });
  return { signal: stop.signal, code: () => code };
}
