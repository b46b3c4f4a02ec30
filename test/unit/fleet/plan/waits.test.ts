import { describe, expect, test } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { firstStage, planHost } from '../../../../src/fleet/plan/plan.ts';
import { deviations, waitsMet, withoutNewWaits } from '../../../../src/fleet/plan/refine.ts';
import { type Change, onlyWaits, reboots } from '../../../../src/fleet/steps/change.ts';
import { allSteps } from '../../../../src/fleet/steps/all.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from '../steps/host-stack-plan.ts';
import { artifacts, converged, status } from '../steps/manager/converged.ts';
import { simulate } from '../steps/simulate.ts';

const desiredBranch = (branch: string): Desired =>
  desiredOf({ driver: { branch } }, { artifacts: artifacts() });
const options = { steps: allSteps, disturbOthers: false };

/** Returns a host in the desired state. */
function complete(desired: Desired): Facts {
  const stack = afterwards(factsOf(), desired);
  const { files, manager } = converged(desired);
  return { ...stack, files: { ...stack.files, ...files }, manager };
}

/** The manager's report after a reboot. */
type Afterwards = 'nothing yet' | 'building' | 'ready';

function made(facts: Facts, change: Change, desired: Desired, then: Afterwards): Facts {
  if (onlyWaits(change)) return merge(facts, { manager: { status: status(desired) } });
  const after = simulate(facts, change, desired);
  if (!reboots(change)) return after;
  return merge(after, {
    manager: { status: then === 'nothing yet' ? undefined : status(desired, then) },
  });
}

/** Applies a plan to facts, and checks that no later plan deviates from it. */
function applied(before: Facts, desired: Desired, then: Afterwards) {
  const announced = planHost(before, desired, options);
  const changes: Change[] = [];
  let facts = before;
  for (;;) {
    const now = withoutNewWaits(planHost(facts, desired, options), announced);
    expect(deviations(now, announced)).toEqual([]);
    const stage = firstStage(now);
    if (stage.length === 0) return { announced, changes };
    for (const change of stage) facts = made(facts, change, desired, then);
    changes.push(...stage);
  }
}

describe('from driver 580 to 595', () => {
  const before = complete(desiredBranch('580'));

  test('the plan is empty before', () => {
    expect(planHost(before, desiredBranch('580'), options).stages).toEqual([]);
  });

  test.each<Afterwards>(['nothing yet', 'building', 'ready'])(
    'the number of changes is the announced one; report after the boot: %s',
    (then) => {
      const { announced, changes } = applied(before, desiredBranch('595'), then);
      const all = announced.stages.flat();
      expect(all.some((change) => change.kind === 'shape' && change.waits === true)).toBe(true);
      expect(changes.length + waitsMet(announced, changes)).toBe(all.length);
    },
  );
});
