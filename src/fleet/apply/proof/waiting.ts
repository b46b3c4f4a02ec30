import { foldNames } from '../../inventory/fold-names.ts';
import type { Waiting } from '../../verdict/agents.ts';
import type { Sight } from '../../verdict/sight.ts';

/** So many causes fit beside a host's name. */
const shown = 2;

/**
 * What the proof still has to wait for. An agent that has been well once may be between two jobs now: what has not been
 * wrong for long enough to be told does not undo its proof. Notes in `seenWell` who is. Pure but for that.
 */
export function toWaitFor(
  waiting: readonly Waiting[],
  { facts: { manager } }: Pick<Sight, 'facts'>,
  seenWell: Set<string>,
): readonly Waiting[] {
  const late = new Set(waiting.map(({ who }) => who));
  for (const { agent } of manager.status?.slots ?? []) if (!late.has(agent)) seenWell.add(agent);
  return waiting.filter(({ who, told }) => told || !seenWell.has(who));
}

/** `waiting for h1-0, h1-1: is still starting; h1-2: its name is held …`. Pure. */
export function waitingLine(waiting: readonly Waiting[]): string {
  const causes = [...Map.groupBy(waiting, ({ why }) => why)].map(
    ([why, all]) => `${foldNames(all.map(({ who }) => who))}: ${why}`,
  );
  const more = causes.length > shown ? `; and ${causes.length - shown} more` : '';
  return `waiting for ${causes.slice(0, shown).join('; ')}${more}`;
}
