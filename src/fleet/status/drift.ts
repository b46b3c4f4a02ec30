import type { ApplyTools } from '../apply/apply-tools.ts';
import type { Problem } from '../../shared/base/errors.ts';
import { troubleOf } from '../../shared/base/host-trouble.ts';
import type { Look } from './row.ts';

/** What `provision` would change or refuse on each host that could be read: host → titles. A mistake over one is its own. */
export function driftOf(
  looks: readonly Look[],
  { plan, log }: Pick<ApplyTools, 'plan' | 'log'>,
): { readonly hosts: ReadonlyMap<string, readonly string[]>; readonly problems: readonly Problem[] } {
  const hosts = new Map<string, readonly string[]>();
  const problems: Problem[] = [];
  for (const { host, facts } of looks) {
    if (facts === undefined) continue;
    try {
      const { stages, refusals } = plan(facts, host);
      const titles = stages.flat().map(({ title }) => title);
      hosts.set(host.name, [...titles, ...refusals.map(({ what }) => `cannot: ${what}`)]);
    } catch (error) {
      problems.push(troubleOf(host.name, error, log));
    }
  }
  return { hosts, problems };
}
