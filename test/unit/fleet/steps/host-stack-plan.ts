import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Change, Refusal } from '../../../../src/fleet/steps/change.ts';
import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../src/fleet/steps/driver/step.ts';
import type { Desired, Planned } from '../../../../src/fleet/steps/step.ts';
import { toolkitStep } from '../../../../src/fleet/steps/toolkit/step.ts';
import { simulate } from './simulate.ts';

export function plan(facts: Facts, desired: Desired): (Planned | Refusal)[] {
  return [driverStep, dockerStep, toolkitStep].flatMap((step) => [...step.plan(facts, desired)]);
}

/** Returns the lines of a plan: `TITLE [DISTURBS]`, or `refused: WHAT`. */
export function lines(items: readonly (Planned | Refusal)[]): string[] {
  return items.map((item) =>
    'refused' in item ? `refused: ${item.what}` : `${item.title} [${item.disturbs}]`,
  );
}

/** Returns the facts after all changes, including those that wait for earlier ones. */
export function afterwards(facts: Facts, desired: Desired): Facts {
  const items = plan(facts, desired);
  const later = items.findIndex((item) => !('refused' in item) && item.kind === 'shape');
  const after = items
    .slice(0, later < 0 ? undefined : later)
    .filter((item): item is Change => !('refused' in item) && item.kind === 'change')
    .reduce((seen, change) => simulate(seen, change, desired), facts);
  return later < 0 ? after : afterwards(after, desired);
}
