import type { ApplyTools } from '../apply/apply-tools.ts';
import type { Look } from './row.ts';

/** What `provision` would change or refuse on each host that could be read: host → titles. */
export function driftOf(
  looks: readonly Look[],
  { plan }: Pick<ApplyTools, 'plan'>,
): ReadonlyMap<string, readonly string[]> {
  return new Map(
    looks.flatMap(({ host, facts }): [string, readonly string[]][] => {
      if (facts === undefined) return [];
      const { stages, refusals } = plan(facts, host);
      const titles = stages.flat().map(({ title }) => title);
      return [[host.name, [...titles, ...refusals.map(({ what }) => `cannot: ${what}`)]]];
    }),
  );
}
