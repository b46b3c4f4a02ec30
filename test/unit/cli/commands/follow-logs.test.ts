import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  endLine,
  followJob,
  newLines,
  recordOf,
  runHeader,
  type RunningJob,
  runningJobs,
  slotWriter,
} from '../../../../src/cli/commands/follow-logs.ts';
import type { RunRecord, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { StillClock } from '../../../support/clock.ts';
import { managerStatus } from '../../../support/manager-status.ts';

const slot = (name: string, more: Partial<SlotStatus> = {}): SlotStatus => ({
  slot: name,
  agent: `box-${name}`,
  pool: 'p',
  gpus: [],
  since: '2026-11-21T11:00:00Z',
  jobsRun: 1,
  state: 'busy',
  job: `job ${name}`,
  jobSince: '2026-11-21T11:40:00Z',
  run: { id: `r${name}`, startedAt: '2026-11-21T11:00:00Z', settings: 's' },
  ...more,
});
const record = (more: Partial<RunRecord>): RunRecord => ({
  schema: 1,
  run: 'r0',
  slot: '0',
  agent: 'box-0',
  image: 'i',
  gpus: [],
  finishedAt: '2026-11-21T12:00:00Z',
  oomKilled: false,
  log: [],
  ...more,
});
const job: RunningJob = { host: 'box', slot: '0', run: 'r0', job: 'train', since: '2026-11-21T11:40:00Z' };

describe('the running jobs', () => {
  const status = managerStatus({
    slots: [
      slot('0'),
      slot('1', { state: 'idle' }),
      slot('2'),
      slot('3', { state: 'busy', run: undefined } as unknown as Partial<SlotStatus>),
    ],
  });
  test.each<[readonly string[], string | undefined, readonly string[]]>([
    [[], undefined, ['0', '2']],
    [['2'], undefined, ['2']],
    [['1'], undefined, []],
    [[], 'r2', ['2']],
    [['0'], 'r2', []],
  ])('of slots %j, run %s', (chosen, run, expected) =>
    expect(runningJobs('box', status, chosen, run).map((each) => each.slot)).toEqual(expected),
  );

  test('are in one table', () => {
    const jobs = runningJobs('box', status, []);
    expect(runHeader(jobs, 80)).toBe(`SLOT   SINCE (UTC)       RUN  JOB
box/0  2026-11-21 11:40  r0   job 0
box/2  2026-11-21 11:40  r2   job 2
`);
    for (const line of runHeader([{ ...job, job: 'a long name of a job '.repeat(9).trim() }], 60).split('\n'))
      expect(line.length).toBeLessThanOrEqual(60);
  });
});

describe('lines that were added', () => {
  test.each<[string, string, string, boolean]>([
    ['', 'a b', 'a b', false],
    ['a b', 'a b', '', false],
    ['a b', 'a b c', 'c', false],
    ['a b c', 'b c d', 'd', false],
    ['a b', 'x y', 'x y', true],
    ['a a a', 'a a a a', 'a', false],
    ['a b a b', 'a b a b a', 'a', false],
    ['a b', '', '', false],
  ])('%s, then %s: %s', (before, now, expected, isGap) => {
    const lines = (text: string) => text.split(' ').filter((line) => line !== '');
    expect(newLines(lines(before), lines(now))).toEqual({ lines: lines(expected), isGap });
  });

  test('are exactly those between two looks at the last N lines, and a gap is told', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 0, max: 40 }),
        (window, first, added) => {
          const history = Array.from({ length: first + added }, (_, at) => `line ${at}`);
          const before = history.slice(0, first).slice(-window);
          const { lines, isGap } = newLines(before, history.slice(-window));
          const start = Math.max(first, history.length - window);
          expect(lines).toEqual(history.slice(start));
          expect(isGap).toBe(start > first || (added >= window && added > 0));
        },
      ),
    );
  });

  test('are found in linear time, whatever the lines are', () => {
    const same = Array.from({ length: 20_000 }, () => 'x');
    expect(newLines([...same, 'y'], [...same, 'z'])).toEqual({ lines: [...same, 'z'], isGap: true });
  });
});

/** A manager whose slot prints these outputs, one a look, and then has ended its run. */
function manager(outputs: readonly string[], records: readonly (readonly RunRecord[])[]) {
  let [looks, asked] = [0, 0];
  return {
    logs: async () => outputs[looks] ?? 'another run\n',
    status: async () => {
      const current =
        looks < outputs.length ? slot('0') : slot('0', { run: { id: 'r9', startedAt: '', settings: '' } });
      looks += 1;
      return managerStatus({ slots: [current] });
    },
    runs: async () => records[Math.min(asked++, records.length - 1)] ?? [],
  };
}

async function followed(from: ReturnType<typeof manager>, tail = 200) {
  const clock = new StillClock();
  const written: string[] = [];
  const ended = await followJob(job, {
    manager: from,
    clock,
    signal: new AbortController().signal,
    tail,
    write: (lines) => written.push(...lines),
  });
  return { written, ended, waits: clock.waits };
}

test('a job is followed to its end, with the lines that only its record has', async () => {
  const end = record({ log: ['a', 'b', 'c', 'd'], result: 'succeeded' });
  const { written, ended, waits } = await followed(manager(['a\n', 'a\n', 'a\nb\nc\n'], [[], [end]]));
  expect(written).toEqual(['a', 'b', 'c', 'd']);
  expect(ended).toBe(end);
  expect(new Set(waits)).toEqual(new Set([1000]));
  const shown = endLine(job, ended, ({ result = '?' }) => result);
  expect(shown).toBe('box/0: train ended: succeeded\n');
});

test('lines that the record has without colors are shown once', async () => {
  const end = record({ log: ['red', 'plain', 'last'] });
  const { written } = await followed(manager(['\u001B[31mred\u001B[0m \nplain\n'], [[end]]));
  expect(written).toEqual(['\u001B[31mred\u001B[0m ', 'plain', 'last']);
});

test('only the last lines of the output so far are shown', async () => {
  const { written } = await followed(
    manager(['a\nb\nc\n', 'a\nb\nc\nd\n'], [[record({ log: ['c', 'd'] })]]),
    1,
  );
  expect(written).toEqual(['c', 'd']);
});

test('output of the next run in the slot is not shown', async () => {
  const { written } = await followed(manager([], [[record({ log: ['late'] })]]));
  expect(written).toEqual(['late']);
});

test('a job that prints faster than it is read leaves a note, not silence', async () => {
  const { written } = await followed(manager(['a\n', 'x\n'], [[record({ log: ['x'] })]]));
  expect(written).toEqual(['a', '… lines that the job printed too fast are left out', 'x']);
});

test('a run that is not recorded in time has an unknown result', async () => {
  const { ended, waits } = await followed(manager(['a\n'], [[]]));
  expect(ended).toBeUndefined();
  expect(waits.length).toBeLessThan(40);
  expect(endLine(job, ended, () => 'succeeded')).toBe(
    'box/0: train ended: its result is not known yet; run "azp-fleet logs box/0 --runs"\n',
  );
});

test('Ctrl-C ends the command, and the job continues', async () => {
  const stop = new AbortController();
  const following = followJob(job, {
    manager: manager(['a\n', 'a\nb\n'], [[]]),
    clock: Object.assign(new StillClock(), { wait: async () => stop.abort() }),
    signal: stop.signal,
    tail: 200,
    write: () => undefined,
  });
  await expect(following).rejects.toMatchObject({
    problem: { code: 'interrupted', what: 'canceled; the job continues' },
  });
});

test('lines of several slots begin with the name of theirs', () => {
  const out: string[] = [];
  const [one, other] = [
    { host: 'box', slot: '0' },
    { host: 'box', slot: '10' },
  ];
  slotWriter(one, [one, other], (text) => out.push(text))(['a', 'b']);
  slotWriter(one, [one], (text) => out.push(text))(['c']);
  expect(out).toEqual(['box/0  | a\nbox/0  | b\n', 'c\n']);
});

test('a run is found by its id in all slots, and an unknown one is named', async () => {
  const runs = { runs: async () => [record({ run: 'r1' }), record({ run: 'r2', slot: '1' })] };
  expect(await recordOf(runs, 'box', [], 'r2')).toMatchObject({ slot: '1' });
  await expect(recordOf(runs, 'box', ['0'], 'r7')).rejects.toMatchObject({
    problem: { code: 'runs.unknown', what: 'box has no run r7', next: 'list the runs: azp-fleet logs box' },
  });
});
