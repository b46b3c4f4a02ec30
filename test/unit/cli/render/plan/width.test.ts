import { expect, test } from 'vitest';

import type { Facts } from '../../../../../src/fleet/facts/facts.ts';
import { planHost } from '../../../../../src/fleet/plan/plan.ts';
import { planLaterPools } from '../../../../../src/fleet/plan/pools.ts';
import { planText } from '../../../../../src/cli/render/plan.ts';
import { allSteps } from '../../../../../src/fleet/steps/all.ts';
import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { merge } from '../../../../support/host.ts';
import { cases as hostStackCases } from '../../../fleet/steps/host-stack-cases.ts';
import { managerCases } from '../../../fleet/steps/manager/cases.ts';
import { artifacts, converged, defaults } from '../../../fleet/steps/manager/converged.ts';
import { textOn80 } from './manager-plans.ts';

/** Returns lines that are too long although they contain a space. */
function tooLong(text: string): string[] {
  return text.split('\n').filter((line) => line.length > 80 && !/^ *\S+$/.test(line));
}

const planned = (facts: Facts, desired: Desired) =>
  planHost(facts, { ...desired, artifacts: artifacts() }, { steps: allSteps, disturbOthers: false });

test.each([...hostStackCases, ...managerCases])('a plan fits into 80 columns: %s', (_, facts, desired) => {
  expect(tooLong(textOn80([planned(facts, desired)]))).toEqual([]);
});

test('a long title and a long refusal wrap below their first words', () => {
  const left = [1, 2].map((each) => `/etc/azp-fleet/manager.json.part-${each}23456789abcdef0123`);
  const facts = merge(converged(), { manager: { leftovers: left } });
  const steps = allSteps.slice(-1);
  expect(textOn80([planHost(facts, defaults, { steps, disturbOthers: false })])).toBe(`h200-1: 1 change
  - manager  remove partial uploads of an interrupted run:
             manager.json.part-123456789abcdef0123,
             manager.json.part-223456789abcdef0123
             never completed

Changes: 1 on 1 host.
`);
  const newer = merge(converged(), { manager: { release: { version: '0.4.0', protocol: 9 } } });
  const plan = planHost(newer, defaults, { steps, disturbOthers: false });
  expect(textOn80([plan])).toContain(`h200-1: 0 changes
  ✗ manager  the manager on h200-1 is 0.4.0, this azp-fleet is 0.2.0: they are
             more than one release apart
             next: `);
});

test('a long title of the fleet wraps below its first words', () => {
  const fleet = planLaterPools(new Map([['gpu-laboratory-of-the-institute-{cuda}', ['h200-1']]]));
  const rest = { version: '0.2.0', at: '', inventory: '', inventoryDigest: '', hosts: [] };
  expect(planText({ schema: 1, ...rest, fleet }, { color: false, scripts: false })).toContain(
    `  ? create agent pool gpu-laboratory-of-the-institute-{cuda} if there is none,
      and permit its use
      its name depends on`,
  );
});
