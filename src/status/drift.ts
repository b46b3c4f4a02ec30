import { planNow } from '../plan/survey.ts';
import type { Tools } from '../plan/tools.ts';
import type { Look } from './row.ts';

/** What `provision` would change or refuse on each host that could be read: host → titles. */
export function driftOf(looks: readonly Look[], tools: Tools): ReadonlyMap<string, readonly string[]> {
  return new Map(
    looks.flatMap(({ host, facts }): [string, readonly string[]][] => {
      if (facts === undefined) return [];
      const { stages, refusals } = planNow(facts, host, tools);
      const titles = stages.flat().map(({ title }) => title);
      return [[host.name, [...titles, ...refusals.map(({ what }) => `cannot: ${what}`)]]];
    }),
  );
}
