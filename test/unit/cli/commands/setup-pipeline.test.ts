import { expect, test } from 'vitest';

import type { TestRun } from '../../../../src/shared/azure/test-run.ts';
import { runTestPipeline } from '../../../../src/cli/commands/setup.ts';

const run = { id: 12, url: 'https://dev.azure.com/example/vision/_build/results?buildId=12' };

async function runWith(result: string | undefined, projects: readonly string[]) {
  const printed: string[] = [];
  const ended: TestRun = result === undefined ? run : { ...run, result };
  const exitCode = await runTestPipeline({
    pipelines: {
      start: (project) => Promise.resolve(project === 'vision' ? run : undefined),
      wait: () => Promise.resolve(ended),
    },
    projects,
    id: 7,
    say: (line) => void printed.push(line),
  });
  return { exitCode, printed: printed.join('\n') };
}

test.each([
  ['succeeded', 0, '✔ pipeline succeeded: the pool runs jobs'],
  ['failed', 1, '✗ pipeline failed\n  next      read its log: https://dev.azure.com/'],
  [undefined, 1, '✗ pipeline still runs after 30 minutes'],
])('a run with result %s', async (outcome, exitCode, text) => {
  const result = await runWith(outcome, ['speech', 'vision']);
  expect(result.exitCode).toBe(exitCode);
  expect(result.printed).toContain(`Pipeline 7 of vision runs: ${run.url}\n${text}`);
});

test.each([
  [[], 'no projects in the inventory'],
  [['speech'], 'not in speech'],
])('a pipeline that is in none of the projects %j', async (projects, seen) => {
  await expect(runWith('succeeded', projects)).rejects.toMatchObject({ problem: { seen }, exitCode: 2 });
});
