import { expect, test } from 'vitest';
import { unitName } from '../../../../src/manager/host-mode/unit.ts';
import { userName } from '../../../../src/manager/host-mode/user.ts';

test.each([
  ['training-node-large-gpu-0', 'training-node-large-gpu-1'],
  ['A', 'a'],
  ['a.b', 'a_b'],
  ['a b', 'a_b'],
  ['.a', '_a'],
])('the slots %s and %s have users, folders and units of their own', (one, other) => {
  for (const name of [userName, unitName]) expect(name(one)).not.toBe(name(other));
  for (const slot of [one, other]) expect(userName(slot)).toMatch(/^azp-agent-[a-z0-9_-]{1,22}$/);
});

test('a name that is usable as it is stays', () => {
  expect([userName('bare-0'), userName('x'.repeat(22)), unitName('bare.A-0')]).toEqual([
    'azp-agent-bare-0',
    `azp-agent-${'x'.repeat(22)}`,
    'azp-fleet-agent-bare.A-0.service',
  ]);
});
