import { FleetError, type Problem } from './errors.ts';
import type { Logger } from './log.ts';

export const bugCode = 'bug';

/**
 * Turns the error that ended the work on one host into that host's problem. Many hosts share a run, so one host must not
 * end it for the others, not even by a bug of ours; the debug log gets the stack of a bug.
 */
export function hostProblem(host: string, error: unknown, log: Logger): Problem {
  if (error instanceof FleetError) return error.at({ host }).problem;
  log.log('error', 'bug', { host, stack: error instanceof Error ? error.stack : String(error) });
  return {
    code: bugCode,
    host,
    what: `bug in azp-fleet: ${error instanceof Error ? error.message : String(error)}`,
    next: 'report it with the debug log (~/.local/state/azp-fleet/logs); other hosts are not affected',
  };
}
