import { expect, test } from 'vitest';

import type { RunRecord } from '../../../src/contract/runs.ts';
import { drainText, runsText } from '../../../src/render/managers.ts';
import { managerStatus } from '../../support/manager-status.ts';

const record: RunRecord = {
  schema: 1,
  run: '01',
  slot: '0',
  agent: 'h200-1-0',
  image: 'sha256:1',
  gpus: ['GPU-1'],
  finishedAt: '2026-11-20T12:30:01.5Z',
  oomKilled: false,
  log: [],
};

test('drain and undrain tell what is left: slots, jobs, and who keeps jobs away since when', () => {
  const slot = { slot: '0', agent: 'h200-1-0', gpus: [], since: '', jobsRun: 0 };
  const slots = [
    { ...slot, state: 'busy' as const, job: 'train', jobSince: '2026-11-20T11:02:03Z' },
    { ...slot, slot: '1', state: 'drained' as const },
  ];
  const drains = [{ slot: '1', reason: 'fan', at: '2026-11-20T12:30:01Z', owner: 'ann@laptop' }];
  expect(drainText('h200-1', managerStatus({ slots, drains }))).toBe(
    'h200-1: 1 of 2 slots drained; still running: slot 0 (train, since 2026-11-20 11:02 UTC)\n' +
      '  slot 1 drained by ann@laptop: fan, since 2026-11-20 12:30 UTC\n',
  );
  expect(drainText('h200-1', managerStatus({ slots: [] }))).toBe('h200-1: 0 of 0 slots drained\n');
});

test('runs are told apart: a job done, a job out of memory, no job at all', () => {
  const text = runsText('h200-1', [
    { ...record, durationS: 62.4, exitCode: 0, job: 'train', result: 'succeeded' },
    { ...record, slot: '1', durationS: 5, exitCode: 137, oomKilled: true, job: 'eat memory' },
    {
      ...record,
      exitCode: 1,
      cause: { code: 'credentials', what: 'the token is not accepted', next: 'replace it' },
    },
  ]);
  expect(text.split('\n')).toEqual([
    'h200-1/0  2026-11-20 12:30:01  succeeded      62 s  train',
    'h200-1/1  2026-11-20 12:30:01  out of memory   5 s  eat memory',
    'h200-1/0  2026-11-20 12:30:01  credentials          the token is not accepted',
    '',
  ]);
});

test('the time that an agent waited for its job is told apart from the job', () => {
  const text = runsText('h200-1', [
    { ...record, waitedS: 49, durationS: 10, job: 'train', result: 'succeeded' },
    { ...record, waitedS: 300, cause: { code: 'agent.killed', what: 'killed', next: 'look' } },
  ]);
  expect(text.split('\n')).toEqual([
    'h200-1/0  2026-11-20 12:30:01  succeeded     10 s  waited 49 s   train',
    'h200-1/0  2026-11-20 12:30:01  agent.killed        waited 300 s  killed',
    '',
  ]);
});

test('a run of which the agent itself has left logs names how they are read', () => {
  const failed = { ...record, durationS: 2, job: 'train', result: 'failed', diagnostics: true };
  expect(runsText('h200-1', [failed])).toBe(
    'h200-1/0  2026-11-20 12:30:01  failed  2 s  train  (--diag --run 01)\n',
  );
});

test('a host without runs says so', () => {
  expect(runsText('h200-1', [])).toBe('h200-1: no runs yet\n');
});
