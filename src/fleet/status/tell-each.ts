import type { Problem } from '../../shared/base/errors.ts';
import { troubleOf } from '../../shared/base/host-trouble.ts';
import type { Logger } from '../../shared/base/log.ts';
import type { Look } from './row.ts';

/**
 * What `tell` makes of each host, and what went wrong on hosts. Where it fails over one host's words that host is told of
 * as one that could not be read.
 */
export function tellEach<Told>(
  looks: readonly Look[],
  log: Logger,
  tell: (look: Look) => Told,
): { readonly told: readonly Told[]; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const told = looks.map((look) => {
    if (look.problem !== undefined) problems.push(look.problem);
    try {
      return tell(look);
    } catch (error) {
      const problem = troubleOf(look.host.name, error, log);
      problems.push(problem);
      return tell({ host: look.host, problem });
    }
  });
  return { told, problems };
}
