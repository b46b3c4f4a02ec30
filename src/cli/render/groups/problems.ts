import type { Problem } from '../../../shared/base/errors.ts';
import { problemLines } from '../problem.ts';
import { alike } from './alike.ts';
import { hostLabel } from './host-label.ts';

/** Problems as lines, the same of several hosts once. Those of no host are in the place of the first. */
export function problemsLines(problems: readonly Problem[], width: number): string[] {
  const said = problems.map(({ host = '', ...value }) => ({ host, value }));
  return alike(said).flatMap(({ hosts, value }) => {
    if (hosts.includes('')) return problemLines(value, width);
    const { label, names } = hostLabel(hosts);
    return problemLines({ ...value, host: label }, width, names);
  });
}
