import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunRecord } from '../../../../src/shared/contract/status.ts';
import {
  diagnosticLimits,
  diagnosticOf,
  diagnosticsText,
  isAgentLog,
  isFailed,
  RunStore,
} from '../../../../src/manager/runs/run-store.ts';

let directory: string;
let runStore: RunStore;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'run-store-'));
  runStore = new RunStore(directory);
});
afterEach(() => rmSync(directory, { recursive: true }));

const record = (run: number): RunRecord => ({
  schema: 1,
  run: `run-${String(run).padStart(3, '0')}`,
  slot: '0',
  agent: 'box-0',
  image: 'i',
  gpus: [],
  finishedAt: '2026-11-21T02:00:00Z',
  oomKilled: false,
  log: [],
});

async function add(run: number, isFailing: boolean): Promise<void> {
  await runStore.add(record(run));
  const text = `log of ${run}`;
  if (isFailing)
    await runStore.keepDiagnostics('0', record(run).run, [{ name: 'Agent_1.log', bytes: 9, text }]);
}

test.each([
  [{ result: 'succeeded' }, false],
  [{ result: 'succeededwithissues' }, false],
  [{ result: 'canceled' }, false],
  [{}, false],
  [{ result: 'failed' }, true],
  [{ result: 'abandoned' }, true],
  [{ result: 'succeeded', cause: { code: 'bug' as const, what: 'x', next: 'x' } }, true],
])('%j is a failed run: %s', (outcome, failed) => {
  expect(isFailed(outcome)).toBe(failed);
});

test.each([
  ['Agent_20261121-020000-utc.log', true],
  ['Worker_20261121-020000-utc.log', true],
  ['Agent_20261121-020000-utc_1.log', true],
  ['pages', false],
  ['.log', false],
  [`Agent_${'x'.repeat(200)}.log`, false],
  ['Agent_../../x.log', false],
])('%s is a log of the agent: %s', (name, is) => {
  expect(isAgentLog(name)).toBe(is);
});

test('returns the logs of the last failed run, or of a named run', async () => {
  await add(1, true);
  await add(2, true);
  await add(3, false);
  expect((await runStore.diagnostics('0'))?.files[0]?.text).toBe('log of 2');
  expect((await runStore.diagnostics('0', 'run-001'))?.files[0]?.text).toBe('log of 1');
  expect(await runStore.diagnostics('0', 'run-003')).toBeUndefined();
  expect(await runStore.diagnostics('0', '../0/run-001')).toBeUndefined();
  expect(await runStore.diagnostics('9')).toBeUndefined();
  const listed = await runStore.list('0');
  expect(listed.map(({ run, diagnostics }) => [run, diagnostics])).toEqual([
    ['run-003', undefined],
    ['run-002', true],
    ['run-001', true],
  ]);
});

test('logs of five failed runs are kept, each as long as its run', async () => {
  for (let run = 1; run <= 8; run += 1) await add(run, true);
  const kept = (): readonly string[] =>
    readdirSync(join(directory, '0')).filter((name) => name.endsWith('.diag'));
  expect(kept()).toEqual([4, 5, 6, 7, 8].map((run) => `r000000000${run}-${record(run).run}.diag`));
  expect(statSync(join(directory, '0', 'r0000000008-run-008.diag')).mode & 0o777).toBe(0o600);
  for (let run = 9; run <= 26; run += 1) await add(run, false);
  expect(kept()).toEqual(['r0000000007-run-007.diag', 'r0000000008-run-008.diag']);
});

test('a kept log has no control sequences and a limited size', () => {
  const wild = `\u001B[2J\u202Eevil\t${'\t'.repeat(diagnosticLimits.fileBytes)}end`;
  const { text } = diagnosticOf({ name: 'Agent_1.log', bytes: 1e9, end: Buffer.from(wild) });
  expect(text.length).toBeLessThanOrEqual(diagnosticLimits.fileBytes);
  expect(text).not.toMatch(/[\u001B\u202E]/);
  expect(text.endsWith('end')).toBe(true);
});

test('a log is shown with its name, and whether it is cut', () => {
  expect(
    diagnosticsText('run-1', [
      { name: 'Agent_1.log', bytes: 4, text: 'all\n' },
      { name: 'Worker_1.log', bytes: 5000, text: 'the end' },
    ]),
  ).toBe(
    '==> Agent_1.log of run run-1 <==\nall\n\n==> Worker_1.log of run run-1, the end of 5000 bytes <==\nthe end\n',
  );
});
