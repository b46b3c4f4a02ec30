import { describe, expect, test } from 'vitest';

import type { RunRecord, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { drainText, runsText, undrainText } from '../../../../src/cli/commands/managers.ts';
import { managerStatus } from '../../../support/manager-status.ts';

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

const slotIn = (slot: string, state: SlotStatus['state'], more: Partial<SlotStatus> = {}): SlotStatus => ({
  slot,
  agent: `h200-1-${slot}`,
  gpus: [],
  pool: 'gpu-lab',
  since: '',
  jobsRun: 0,
  state,
  ...more,
});
const fan = { slot: '1', reason: 'fan', at: '2026-11-20T12:30:01Z', owner: 'ann@laptop' };
const train = { job: 'train', jobSince: '2026-11-20T11:02:03Z' };

describe('drain', () => {
  test.each([
    [
      'running jobs, and each drain with its time',
      [slotIn('0', 'busy', train), slotIn('1', 'drained')],
      [],
      `its 2 slots take no more jobs: 1 drained; still running: slot 0 (train, since 2026-11-20 11:02 UTC)`,
    ],
    [
      'an idle host right after the command',
      [slotIn('0', 'idle'), slotIn('1', 'stopping', { container: '0123456789ab' })],
      [],
      'its 2 slots take no more jobs: 2 draining',
    ],
    [
      'a slot without a container that still updates the pool',
      [slotIn('0', 'stopping'), slotIn('1', 'drained')],
      [],
      'its 2 slots take no more jobs: 2 drained',
    ],
    [
      'one slot',
      [slotIn('0', 'idle'), slotIn('1', 'drained')],
      ['1'],
      'slot 1 takes no more jobs: 1 drained',
    ],
    [
      'slots that were not available before',
      [slotIn('0', 'quarantined'), slotIn('1', 'drained')],
      [],
      'its 2 slots take no more jobs: 1 drained; 1 quarantined',
    ],
    [
      'a slot in back-off',
      [slotIn('0', 'backing-off', { since: '2026-11-20T12:31:40Z' }), slotIn('1', 'starting')],
      [],
      'its 2 slots take no more jobs: 1 draining; 1 waiting (since 2026-11-20 12:31 UTC)',
    ],
    ['no slots', [], [], 'no slots'],
  ])('%s', (_, slots, chosen, expected) => {
    expect(drainText('h200-1', managerStatus({ slots, drains: [fan] }), chosen)).toBe(
      `h200-1: ${expected}\n  slot 1 drained by ann@laptop: fan, since 2026-11-20 12:30 UTC\n`,
    );
  });
});

describe('undrain', () => {
  const two = [slotIn('0', 'starting'), slotIn('1', 'idle')];
  test.each([
    ['a host', two, [fan], [], 'its 2 slots take jobs again'],
    ['one that was not drained', two, [], [], 'nothing was drained; its 2 slots take jobs'],
    ['a slot', two, [fan], ['1'], 'slot 1 takes jobs again'],
    [
      'a quarantined slot',
      [slotIn('0', 'quarantined'), slotIn('1', 'idle')],
      [fan],
      [],
      'its 2 slots take jobs again; quarantined: slot 0, check azp-fleet status',
    ],
    [
      'a slot in back-off',
      [slotIn('0', 'backing-off', { since: '2026-11-20T12:31:40Z' }), slotIn('1', 'idle')],
      [fan],
      [],
      'its 2 slots take jobs again; waiting: slot 0 (since 2026-11-20 12:31 UTC), check azp-fleet status',
    ],
  ])('%s', (_, slots, ended, chosen, expected) => {
    expect(undrainText('h200-1', { ...managerStatus({ slots }), ended }, chosen)).toBe(
      `h200-1: ${expected}\n`,
    );
  });

  test('names the remaining drains', () => {
    const host = { reason: 'move', at: '2026-11-20T12:30:01Z', owner: 'bob@desk', run: 'r' };
    expect(undrainText('h200-1', { ...managerStatus({ slots: two, drains: [host] }), ended: [fan] })).toBe(
      'h200-1: its 2 slots take jobs again\n  whole host drained by run r of bob@desk: move, since 2026-11-20 12:30 UTC\n',
    );
  });
});

test('results: a finished job, jobs out of memory, no job', () => {
  const text = runsText('h200-1', [
    { ...record, durationS: 62.4, exitCode: 0, job: 'train', result: 'succeeded' },
    { ...record, slot: '1', durationS: 5, exitCode: 137, oomKilled: true, job: 'eat memory' },
    {
      ...record,
      oomKilled: true,
      exitCode: 0,
      job: 'test',
      result: 'succeeded',
      cause: { code: 'run.out-of-memory', what: 'a process was killed', next: '', severity: 'info' },
    },
    {
      ...record,
      exitCode: 1,
      cause: { code: 'credentials', what: 'the token is not accepted', next: 'replace it' },
    },
  ]);
  expect(text.split('\n')).toEqual([
    'SLOT      FINISHED (UTC)       RESULT         TOOK  RUN  JOB',
    'h200-1/0  2026-11-20 12:30:01  succeeded      62 s  01   train',
    'h200-1/1  2026-11-20 12:30:01  out of memory   5 s  01   eat memory',
    'h200-1/0  2026-11-20 12:30:01  succeeded            01   test: a process was killed',
    'h200-1/0  2026-11-20 12:30:01  credentials          01   the token is not accepted',
    '',
  ]);
});

test('the waiting time of an agent is separate from the duration of its job', () => {
  const text = runsText('h200-1', [
    { ...record, waitedS: 49, durationS: 10, job: 'train', result: 'succeeded' },
    { ...record, waitedS: 300, cause: { code: 'agent.killed', what: 'killed', next: 'check' } },
  ]);
  expect(text.split('\n')).toEqual([
    'SLOT      FINISHED (UTC)       RESULT        TOOK  WAITED  RUN  JOB',
    'h200-1/0  2026-11-20 12:30:01  succeeded     10 s    49 s  01   train',
    'h200-1/0  2026-11-20 12:30:01  agent.killed         300 s  01   killed',
    '',
  ]);
});

test('a run with agent logs names the options to read them', () => {
  const failed = { ...record, durationS: 2, job: 'train', result: 'failed', diagnostics: true };
  expect(runsText('h200-1', [failed])).toContain(
    'h200-1/0  2026-11-20 12:30:01  failed   2 s  01   train (--diag)\n',
  );
});

test('at 80 columns each text stays in its column', () => {
  const width = 80;
  const job = 'unit tests of the trainer on every GPU of the host, with a long name';
  const text = runsText(
    'h200-1',
    [{ ...record, durationS: 62.4, waitedS: 5, job, result: 'succeeded' }],
    width,
  );
  const [heading = '', first = '', ...more] = text.trimEnd().split('\n');
  const column = heading.indexOf('JOB');
  expect(first.slice(column)).toMatch(/^unit tests/u);
  for (const line of more) expect(line.slice(0, column).trim()).toBe('');
  for (const line of [heading, first, ...more]) expect(line.length).toBeLessThanOrEqual(width);
});

test('success with warnings is shown as two words', () => {
  const run = { ...record, durationS: 2, job: 'train', result: 'succeededWithIssues' };
  expect(runsText('h200-1', [run])).toContain('  succeeded (with issues)   2 s  01   train\n');
});

test('a host without runs has no table', () => {
  expect(runsText('h200-1', [])).toBe('h200-1: no runs yet\n');
});
