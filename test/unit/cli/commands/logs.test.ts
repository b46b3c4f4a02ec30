// logs as a user types it, over ssh, with a running manager.
import { afterEach, beforeEach, expect, test } from 'vitest';

import type { Clock } from '../../../../src/shared/base/clock.ts';
import { MovedClock } from '../../../support/clock.ts';
import { runCommand } from '../../../support/command.ts';
import type { ManagerRig } from '../../../support/manager-rig.ts';
import { servedEnv, serveHost, type ServedHost } from '../../../support/served-host.ts';

let served: ServedHost;
let rig: ManagerRig;
beforeEach(async () => {
  served = await serveHost();
  ({ rig } = served);
});
afterEach(() => served.close());

type Options = Partial<Parameters<typeof runCommand>[1]>;
const azpFleet = async (argv: readonly string[], options: Options = {}) => {
  const { stdout, stderr, exitCode } = await runCommand(argv, {
    cwd: rig.directory,
    env: servedEnv,
    ...options,
  });
  // The first connection notes the key of the served.host.
  return { exitCode, stdout, stderr: stderr.replace(/^h200-1: new host key [^]*?known_hosts\r?\n/, '') };
};

/** Returns the machine's clock, with short waits; the first wait, after the first look at the output, does `act`. */
function firstWait(act: () => void): Clock {
  const clock = new MovedClock(20);
  let isFirst = true;
  const wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (isFirst) act();
    isFirst = false;
    await clock.wait(ms, signal);
  };
  return { monotonic: clock.monotonic, wall: clock.wall, scaled: (ms) => ms, wait };
}

/** Begins a job on each of these agents, and returns the ids of their runs. */
async function begin(...slots: readonly string[]): Promise<readonly string[]> {
  for (const slot of slots) rig.beginJob(`box-${slot}`, `job-${slot}`);
  await rig.until('busy', slots);
  return (await rig.status()).slots
    .filter(({ slot }) => slots.includes(slot))
    .map(({ run }) => run?.id ?? '');
}

test('running jobs are followed to their end: a table of the runs, lines with the name of their slot, results', async () => {
  const [first = '', second = ''] = await begin('0', '1');
  const { exitCode, stdout, stderr } = await azpFleet(['logs', 'h200-1', '-f'], {
    terminal: true,
    clock: firstWait(() => {
      rig.docker.say('box-0', '\u001B[31mred\u001B[0m\u001B]0;title\u0007 text');
      rig.endJob('box-0', 'job-0');
      rig.endJob('box-1', 'job-1', 'Failed');
    }),
  });
  expect(exitCode, `${stdout}${stderr}`).toBe(0);
  const lines = stderr.split(/\r?\n/);
  expect(lines[0]).toMatch(/^SLOT {6}SINCE \(UTC\) {7}RUN {2,}JOB$/);
  const column = lines[0]?.indexOf('JOB') ?? 0;
  for (const [at, run] of [first, second].entries()) {
    expect(lines[1 + at]).toMatch(new RegExp(`^h200-1/${at} {2}2026-11-21 02:00  ${run} `));
    expect(lines[1 + at]?.slice(column)).toBe(`job-${at}`);
  }
  expect(lines.slice(3).filter(Boolean).toSorted()).toEqual([
    'h200-1/0: job-0 ended: succeeded',
    expect.stringMatching(/^h200-1\/1: job-1 ended: failed/),
  ]);
  expect(stdout).toContain('h200-1/0 | red text');
  expect(stdout).not.toContain('\u001B');
  for (const line of stdout.trimEnd().split(/\r?\n/)) expect(line).toMatch(/^h200-1\/[01] \| /);
});

test('into a pipe goes only the output of the job, unchanged', async () => {
  await begin('0');
  rig.docker.say('box-0', '\u001B[31mred\u001B[0m');
  const { stdout, stderr } = await azpFleet(['logs', 'h200-1/0', '--follow'], {
    clock: firstWait(() => rig.endJob('box-0', 'job-0')),
  });
  expect(stdout).toContain('Running job: job-0\n');
  expect(stdout).toContain('\u001B[31mred\u001B[0m\n');
  expect(stderr).toMatch(/^SLOT .*\nh200-1\/0 .*\nh200-1\/0: job-0 ended: succeeded\n$/);
});

test('Ctrl-C ends the command with 130, and the job continues', async () => {
  await begin('0');
  const stop = new AbortController();
  const { exitCode } = await azpFleet(['logs', 'h200-1/0', '-f'], {
    signal: stop.signal,
    clock: firstWait(() => stop.abort()),
  });
  expect(exitCode).toBe(130);
  expect(await rig.slot('0')).toMatchObject({ state: 'busy', job: 'job-0' });
});

test('where no job runs nothing is followed', async () => {
  expect(await azpFleet(['logs', 'h200-1', '-f'])).toMatchObject({
    exitCode: 0,
    stdout: '',
    stderr: 'no job is running there\n',
  });
});

test('--run prints the output of a run, also while it runs, and names one that is unknown', async () => {
  const [run = ''] = await begin('0');
  expect((await azpFleet(['logs', 'h200-1', '--run', run])).stdout).toContain('Running job: job-0\n');
  rig.endJob('box-0', 'job-0');
  await expect.poll(async () => (await rig.slot('0')).run?.id).not.toBe(run);
  for (const target of ['h200-1', 'h200-1/0'])
    expect((await azpFleet(['logs', target, '--run', run])).stdout).toContain(
      'completed with result: Succeeded\n',
    );
  expect((await azpFleet(['logs', 'h200-1'])).stdout).toContain(run);
  const unknown = await azpFleet(['logs', 'h200-1', '--run', 'nope']);
  expect(unknown).toMatchObject({ exitCode: 1, stdout: '' });
  expect(unknown.stderr).toContain('h200-1 has no run nope [runs.unknown]');
});

test.each([
  [['--follow', '--json'], '--follow prints as the jobs do, and does not go with --json'],
  [['-f', '--runs'], 'does not go with --runs'],
  [['--run', 'r1', '--runs'], '--run names one run, and --runs lists all'],
])('%j is refused', async (options, what) => {
  const { exitCode, stderr, stdout } = await azpFleet(['logs', 'h200-1/0', ...options]);
  expect(exitCode).toBe(2);
  expect(`${stdout}${stderr}`.replaceAll(/\s+/g, ' ')).toContain(what);
});
