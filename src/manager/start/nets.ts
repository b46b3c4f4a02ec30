import { readFileSync, writeFileSync } from 'node:fs';
import { ExitCode } from '../../shared/base/errors.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Metrics } from '../serve/metrics.ts';

type Program = Pick<NodeJS.Process, 'on' | 'exit' | 'stdout' | 'stderr'>;

/**
 * What becomes of errors that nothing caught. A log that cannot be written (EPIPE while journald restarts) and a promise
 * that nobody waited for take nothing down: whatever needed them has its own deadline. After an exception nobody knows
 * what still holds: the process ends, and its service starts it anew, as after a kill; agents' containers go on.
 * `crashes`: file with the number of such ends, which outlives them.
 */
export function castNets(
  program: Program,
  crashes: string,
  { log, metrics }: { readonly log: Logger; readonly metrics: Pick<Metrics, 'strayError'> },
): void {
  const before = crashesIn(crashes);
  metrics.strayError('exception', before);
  for (const stream of [program.stdout, program.stderr])
    stream.on('error', () => metrics.strayError('output', 1));
  program.on('unhandledRejection', (error) => {
    metrics.strayError('rejection', 1);
    log.log('error', 'a promise was rejected that nobody waited for; the manager goes on', { error });
  });
  program.on('uncaughtException', (error) => {
    try {
      log.log('error', 'an error that nobody caught ends the manager; running jobs go on', { error });
      writeFileSync(crashes, `${before + 1}\n`, { mode: 0o600 });
    } finally {
      program.exit(ExitCode.bug);
    }
  });
}

/** What is not there, or is no number, is none. */
function crashesIn(path: string): number {
  try {
    const count = Number(readFileSync(path, 'utf8'));
    return Number.isSafeInteger(count) && count > 0 ? count : 0;
  } catch {
    return 0;
  }
}
