import { FleetError, type Problem } from './errors.ts';
import type { Logger } from './log.ts';

export const bugCode = 'bug';

/**
 * What ended the work on one host, as that host's trouble: many hosts share a run, and what one of them says must not end
 * it for the others, not even by a mistake of ours. Such a one is told with its stack in the debug log.
 */
export function hostProblem(host: string, error: unknown, log: Logger): Problem {
  if (error instanceof FleetError) return error.at({ host }).problem;
  log.log('error', 'bug', { host, stack: error instanceof Error ? error.stack : String(error) });
  return {
    code: bugCode,
    host,
    what: `azp-fleet made a mistake: ${error instanceof Error ? error.message : String(error)}`,
    next: 'report it with the debug log (~/.local/state/azp-fleet/logs); other hosts are not affected',
  };
}
