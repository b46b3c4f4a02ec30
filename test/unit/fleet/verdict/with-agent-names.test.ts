import { expect, test } from 'vitest';

import { withAgentNames } from '../../../../src/fleet/verdict/agents.ts';

test.each([
  [['box-0'], 'is still starting', 'box-0: is still starting'],
  [['box-0'], 'agent box-0 belongs to another installation', 'agent box-0 belongs to another installation'],
  [['box-0'], 'the owner of: box-0, is away', 'the owner of: box-0, is away'],
  [
    ['box-0'],
    'agent box-01 belongs to another installation',
    'box-0: agent box-01 belongs to another installation',
  ],
  [['box-0', 'box-1'], 'agent box-0 is held', 'box-0, box-1: agent box-0 is held'],
  [[], 'no agent is online', ': no agent is online'],
])('%j, %s', (agents, what, expected) => {
  expect(withAgentNames(agents, what)).toBe(expected);
});
