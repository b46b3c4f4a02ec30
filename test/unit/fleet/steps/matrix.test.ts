import { describe, expect, it } from 'vitest';

import { systems } from '../../../../src/fleet/packages/systems.ts';
import { planHost } from '../../../../src/fleet/plan/plan.ts';
import { dockerStep } from '../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../src/fleet/steps/driver/step.ts';
import { toolkitStep } from '../../../../src/fleet/steps/toolkit/step.ts';
import { isPackageChange } from '../../../../src/fleet/steps/packages/refine.ts';
import { afterwards, lines, plan } from './host-stack-plan.ts';
import { cannotBe, histories, matrix } from './matrix-cases.ts';

const options = { steps: [driverStep, dockerStep, toolkitStep], disturbOthers: true };
const named = matrix.map((one) => [`${one.system}, ${one.history}`, one] as const);

describe('every supported system with every history', () => {
  it('has a case, or a reason why that is impossible', () => {
    const all = systems.flatMap(({ id, versionId }) =>
      histories.map((history) => `${id} ${versionId}, ${history}`),
    );
    expect([...named.map(([name]) => name), ...Object.keys(cannotBe)].toSorted()).toEqual(all.toSorted());
  });

  it.each(named.filter(([, { refused }]) => refused === undefined))('%s', (_, { facts, desired, says }) => {
    const first = plan(facts, desired);
    expect(lines(first)).toEqual(expect.arrayContaining([...says]));
    if (says.length === 0) expect(first).toEqual([]);
    expect(plan(afterwards(facts, desired), desired)).toEqual([]);
  });

  it.each(named.filter(([, { refused }]) => refused !== undefined))(
    '%s: refused by name, also the second time',
    (_, { facts, desired, answer, refused }) => {
      const asked = plan(facts, desired).filter(isPackageChange);
      const answers = Object.fromEntries(
        answer === undefined ? [] : asked.map(({ id }) => [id, answer] as const),
      );
      const once = planHost(facts, desired, options, { answers, final: false });
      expect(once.refusals.map(({ what }) => what).join('\n')).toContain(refused);
      expect(planHost(facts, desired, options, { answers, final: false })).toEqual(once);
    },
  );
});
