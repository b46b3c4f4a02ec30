import type { Facts } from '../facts/facts.ts';
import type { Change, Refusal, Shape } from '../steps/change.ts';

/** Refuses the changes that would hurt other people's work, naming it. Our own agents are drained instead. */
export function refuseDisturbingOthers(facts: Facts, changes: readonly (Change | Shape)[]): Refusal[] {
  return changes.flatMap((change) => {
    const victims = victimsOf(facts, change);
    if (victims.length === 0) return [];
    return {
      refused: true as const,
      step: change.step,
      what: `"${change.title}" would disturb work that is not ours: ${victims.join('; ')}`,
      next: 'let it end first, or run again with --disturb-others',
    };
  });
}

function victimsOf(facts: Facts, { disturbs }: Change | Shape): string[] {
  const { containers, gpuProcesses, logins } = facts.others;
  if (disturbs === 'containers') return named(['container', 'containers'], containers);
  if (disturbs !== 'machine') return [];
  return [
    ...named(['container', 'containers'], containers),
    ...named(['GPU process', 'GPU processes'], gpuProcesses),
    ...named(['login', 'logins'], logins),
  ];
}

function named([one, many]: readonly [string, string], names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [`${names.length === 1 ? one : many} ${names.join(', ')}`];
}
