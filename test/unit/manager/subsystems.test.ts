// What runs beside the loop over the slots: the failure of one part is its own.
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/shared/base/log.ts';
import { followCommand } from '../../../src/manager/machine/command.ts';
import {
  type Crash,
  crashHistory,
  currentSubsystem,
  subsystemNames,
  Subsystems,
} from '../../../src/manager/subsystems.ts';
import { StillClock } from '../../support/clock.ts';

const minute = 60_000;
const noCrashes = { off: new Map() };

describe.each(subsystemNames)('an error in a callback of the subsystem "%s"', (name) => {
  test('is shown, and it starts again after growing pauses; the others go on', async () => {
    const clock = new StillClock();
    const subsystems = new Subsystems({ clock, log: silentLogger }, noCrashes);
    const stop = new AbortController();
    let starts = 0;
    const signals: AbortSignal[] = [];
    await subsystems.run(name, stop.signal, async (end) => {
      starts += 1;
      signals.push(end);
      expect(currentSubsystem()).toBe(name);
      if (starts < 5) throw new Error('no such thing');
    });
    expect(starts).toBe(5);
    expect(clock.waits).toEqual([5000, 10_000, 20_000, 40_000]);
    // Loops that it had begun end before it starts again.
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true, true, false]);
    expect(subsystems.problems).toMatchObject([
      {
        code: 'manager.subsystem-failed',
        what: `subsystem "${name}" failed: unexpected: no such thing`,
      },
    ]);
    let isOther = false;
    const other = subsystemNames.find((each) => each !== name) ?? name;
    await subsystems.run(other, stop.signal, async () => void (isOther = true));
    expect(isOther).toBe(true);
    clock.pass(10 * minute);
    expect(subsystems.problems).toEqual([]);
  });
});

test('an error that is thrown before the first wait is caught, too', async () => {
  const subsystems = new Subsystems({ clock: new StillClock(), log: silentLogger }, noCrashes);
  let starts = 0;
  await subsystems.run('webhook', new AbortController().signal, () => {
    starts += 1;
    if (starts === 1) throw new Error('at once');
    return Promise.resolve();
  });
  expect(starts).toBe(2);
});

test('an error after the manager was stopped is none', async () => {
  const subsystems = new Subsystems({ clock: new StillClock(), log: silentLogger }, noCrashes);
  const stop = new AbortController();
  await subsystems.run('webhook', stop.signal, async () => {
    stop.abort();
    throw new Error('aborted');
  });
  expect(subsystems.problems).toEqual([]);
});

test('a line that the reader of a followed program does not survive ends the program, not the manager', async () => {
  const followed = followCommand(
    'sh',
    ['-c', 'echo a line; exec sleep 1000'],
    () => {
      throw new Error('no such line');
    },
    new AbortController().signal,
  );
  await expect(followed).rejects.toThrow('no such line');
});

describe('crashes', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  const crash = (ago: number, reason = 'Error: x', subsystem: Crash['subsystem'] = 'webhook'): Crash => ({
    at: now - ago,
    reason,
    ...(subsystem === undefined ? {} : { subsystem }),
  });
  const off = (...crashes: readonly Crash[]) => [...crashHistory(crashes, now).off.keys()];

  test.each<[string, readonly Crash[], readonly string[]]>([
    ['none', [], []],
    ['two', [crash(2), crash(1)], []],
    ['three', [crash(3 * minute), crash(2), crash(1)], ['webhook']],
    ['three, one of them older than ten minutes', [crash(10 * minute), crash(2), crash(1)], []],
    ['three, one of them by a clock that was ahead', [crash(-minute), crash(2), crash(1)], []],
    ['three for different reasons', [crash(3), crash(2, 'Error: y'), crash(1)], []],
    ['three in different subsystems', [crash(3), crash(2, 'Error: x', 'metrics'), crash(1)], []],
  ])('%s', (_, crashes, expected) => {
    expect(off(...crashes)).toEqual(expected);
  });

  test('outside of subsystems turn nothing off', () => {
    const outside = [1, 2, 3].map((ago) => ({ at: now - ago, reason: 'Error: x' }));
    expect(off(...outside)).toEqual([]);
    expect(crashHistory(outside, now).latest).toEqual(outside.at(-1));
  });

  test('a subsystem that is off does not run, and the status says so for as long as the manager runs', async () => {
    const clock = new StillClock();
    const history = crashHistory([crash(3), crash(2), crash(1)], now);
    const subsystems = new Subsystems({ clock, log: silentLogger }, history);
    let isRun = false;
    await subsystems.run('webhook', new AbortController().signal, async () => void (isRun = true));
    expect(isRun).toBe(false);
    const codes = () => subsystems.problems.map(({ code }) => code);
    expect(codes()).toEqual(['manager.subsystem-off', 'manager.crashed']);
    clock.pass(10 * minute);
    expect(codes()).toEqual(['manager.subsystem-off']);
  });
});
