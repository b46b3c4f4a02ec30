import { expect, test } from 'vitest';

import { type Figures, measured, missed, table } from '../../../bench/manager/goals.ts';

const good: Figures = {
  refills: [{ ownMs: 100, wholeMs: 900, serverMs: 300, engineMs: 600 }],
  runs: [{ startMs: 400, agentStartMs: 1000, jobMs: 2000, agentEndMs: undefined }],
  idleMB: 110,
  busyMB: 80,
  idlePercent: 0.5,
  idleProgramsPercent: 3,
};

test.each<[string, Partial<Figures>, readonly string[]]>([
  ['every goal just reached', {}, []],
  [
    'slow',
    { refills: [{ ownMs: 100.2, wholeMs: 900, serverMs: 300, engineMs: 600 }] },
    ["own time from a run's end to the next start request, p95: 100.20 ms, not ≤ 100 ms"],
  ],
  ['large at rest', { idleMB: 110.01 }, ['resident memory, idle: 110.01 MB, not ≤ 110 MB']],
  ['large after work', { busyMB: 200 }, ['resident memory, after the jobs: 200.00 MB, not ≤ 110 MB']],
  ['restless', { idlePercent: 0.51 }, ['one processor, idle: 0.51 %, not ≤ 0.5 %']],
  [
    'nothing measured',
    { refills: [] },
    ["own time from a run's end to the next start request, p95: not measured, not ≤ 100 ms"],
  ],
])('goals: %s', (_, change, expected) => {
  expect(missed(measured({ ...good, ...change }))).toEqual(expected);
});

test('the table shows the goal and how far it is', () => {
  expect(table(1, measured(good))).toContain(
    '| resident memory, after the jobs | 80.00 MB | ≤ 110 MB | 0.73 |',
  );
});

test('the table says whose time it is; a part that was not seen is not measured', () => {
  const shown = table(1, measured(good));
  expect(shown).toContain("| the engine's start of the container, with its hooks, p50 | 400.00 ms |");
  expect(shown).toContain('| the agent from there until its container exits, p50 | not measured |');
});
