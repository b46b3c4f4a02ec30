// Effects of signals on the listener.
import { constants } from 'node:os';
import { say } from './say.mjs';

const names = ['SIGINT', 'SIGQUIT', 'SIGTERM'];

/** Returns the names in the mask that /proc shows as SigIgn. */
export function ignoredSignals(mask) {
  const bits = BigInt(`0x${mask}`);
  return names.filter((name) => (bits >> BigInt(constants.signals[name] - 1)) & 1n);
}

/**
 * Registers the signals. SIGINT ends versions 4 and 5 with a cleanup. SIGTERM ends version 4 with a cleanup; version 5
 * (.NET 10) keeps the default disposition, and the process ends at once. A signal that was ignored at the start stays ignored.
 * @returns {{signal: AbortSignal, code: () => number}} `code`: the exit code after a signal
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
