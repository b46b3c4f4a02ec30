import { expect, test } from 'vitest';

import { jobsTrouble, troubleLines } from '../../../../src/cli/render/trouble.ts';

const next =
  '  next  buy self-hosted parallel jobs, or check what uses them: Organization settings > Parallel jobs (https://dev.azure.com/lab/_settings/buildqueue)';

test.each([
  [
    { agents: 8, permitted: 1 },
    [
      '! Azure DevOps: 8 agents, 1 permitted parallel job of private projects: only 1 of them can run jobs at a time, other jobs wait',
      next,
    ],
  ],
  [
    { agents: 8, permitted: 0, used: 0 },
    [
      '! Azure DevOps: 8 agents, 0 permitted parallel jobs of private projects, 0 in use: no agent gets a job, other jobs wait',
      next,
    ],
  ],
  [
    { agents: 1, permitted: 20, used: 3 },
    ['· Azure DevOps: 1 agent, 20 permitted parallel jobs of private projects, 3 in use'],
  ],
])('%j', (view, lines) => {
  const trouble = jobsTrouble(view, 'https://dev.azure.com/lab');
  expect(troubleLines(trouble, { width: 200, paint: (_, text) => text })).toEqual(lines);
});
