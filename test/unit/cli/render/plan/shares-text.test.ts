import { expect, test } from 'vitest';

import { configured, count, planOn80, runningWith, desiredWith } from './manager-plans.ts';

test.each([
  [
    'CPUs and a size',
    desiredWith(),
    desiredWith({ limits: { cpus: 16, disk: '200g' } }),
    `             + limits.cpus: 16
                 applies while CPUs are short; unused CPUs are free for all
             + limits.disk: 200g
                 where Docker's storage supports it; \`status\` says where it does
                 not
             ~ all slots restart
                 running jobs finish first`,
  ],
  [
    'no separate limit any more',
    desiredWith({ limits: { memory: '8g' } }),
    desiredWith(),
    `             - limits.memory: 8g
             + memory of each agent: 14.5 GiB of 62.5 GiB
             ~ all slots restart
                 running jobs finish first`,
  ],
])('the limits of an agent: %s', (_, before, after, lines) => {
  expect(planOn80(runningWith(before), after)).toBe(configured(lines));
});

test('memory is not described if the host does not report it', () => {
  const facts = { ...runningWith(desiredWith(count(2))), memoryMiB: 0 };
  expect(planOn80(facts, desiredWith(count(4)))).not.toContain('memory');
});
