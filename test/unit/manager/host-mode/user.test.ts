import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unitName } from '../../../../src/manager/host-mode/systemd.ts';
import { userName, clearUser, clearUserScript } from '../../../../src/manager/host-mode/user.ts';
import type { HostEngine } from '../../../../src/manager/host-mode/host-engine.ts';
import { type CommandResult, runCommand, type RunCommand } from '../../../../src/manager/machine/command.ts';
import { StillClock } from '../../../support/clock.ts';
import { FakeSystemd } from '../../../support/fake-systemd.ts';
import { testSuite } from '../../../support/scratch/suite-tests.ts';
import { cleanDocker, hostRuns } from '../../../support/host-runs.ts';
import { clearUserSuite } from './clear-user-cases.ts';
import { fault } from '../../../support/fault.ts';

testSuite(clearUserSuite);

test.each([
  ['training-node-large-gpu-0', 'training-node-large-gpu-1'],
  ['A', 'a'],
  ['a.b', 'a_b'],
  ['a b', 'a_b'],
  ['.a', '_a'],
])('the slots %s and %s have different users, folders and units', (one, other) => {
  for (const name of [userName, unitName]) expect(name(one)).not.toBe(name(other));
  for (const slot of [one, other]) expect(userName(slot)).toMatch(/^azp-agent-[a-z0-9_-]{1,22}$/);
});

test('a valid name is unchanged', () => {
  expect([userName('bare-0'), userName('x'.repeat(22)), unitName('bare.A-0')]).toEqual([
    'azp-agent-bare-0',
    `azp-agent-${'x'.repeat(22)}`,
    'azp-fleet-agent-bare.A-0.service',
  ]);
});

const unit = 'azp-fleet-agent-bare.service';
const vacated = `vacate azp-agent-bare 58999 ${unit}`;
let directory: string;
/** Output of the script: empty when no process of the user is left. */
let left: string;
let calls: string[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'vacate-'));
  chmodSync(directory, 0o755);
  mkdirSync(join(directory, 'agent/bin'), { recursive: true });
  left = '';
  calls = [];
});
afterEach(() => rmSync(directory, { recursive: true }));

const said = (output: string): CommandResult => ({
  code: output === '' ? 0 : 3,
  output,
  timedOut: false,
  stillRunning: () => false,
});

const systemd = new FakeSystemd();
const command: RunCommand = async (program, args, deadlineMs) => {
  const isVacating = program === 'systemd-run' && args.includes('--wait');
  calls.push(isVacating ? `vacate ${args.slice(-3).join(' ')}` : [program, args[0]].join(' '));
  if (isVacating) return said(left);
  const answered = systemd.command(program, args, deadlineMs);
  if (answered !== undefined) return answered;
  return ['cp', 'rm'].includes(program) ? runCommand(program, args, deadlineMs) : said('');
};

const engine = (): HostEngine => hostRuns(directory, command, cleanDocker, new StillClock());

const create = (): Promise<string> =>
  engine().create({
    run: 'r1',
    slot: 'bare',
    agent: 'box-bare',
    labels: { 'azp-fleet.slot': 'bare', unit },
    program: join(directory, 'agent'),
    unit,
    user: { name: 'azp-agent-bare', uid: 58_999, gid: 58_999 },
    systemdRun: () => [`--unit=${unit}`],
  });

test('no process of the user is running when the folder of the next agent is created', async () => {
  await create();
  const at = calls.indexOf(vacated);
  // systemd forgets the control group of a unit that is stopped.
  expect(at).toBeGreaterThanOrEqual(0);
  expect(at).toBeLessThan(calls.indexOf('systemctl stop'));
  expect(at).toBeLessThan(calls.findIndex((call) => call.startsWith('cp')));
});

fault(
  'process-left',
  'while a process runs, no folder for a key exists, and the process is named',
  async () => {
    left = '4121 D (disk sleep) train.py\n';
    await expect(create()).rejects.toMatchObject({
      problem: {
        code: 'host-mode.user-alive',
        what: 'processes that a job left running as azp-agent-bare do not exit',
        seen: '4121 D (disk sleep) train.py',
      },
    });
    expect(existsSync(join(directory, 'agents/bare'))).toBe(false);
  },
);

test("a job's processes are killed with its run, before its folder is removed", async () => {
  const id = await create();
  calls = [];
  await engine().remove(id);
  const at = calls.indexOf(vacated);
  expect(at).toBeGreaterThanOrEqual(0);
  expect(at).toBeLessThan(calls.indexOf('systemctl stop'));
  expect(at).toBeLessThan(calls.findIndex((call) => call.startsWith('rm')));
});

test('systemd expands no variable of the script', async () => {
  let script = '';
  const listen: RunCommand = (_, args) => {
    script = args[args.indexOf('-c') + 1] ?? '';
    return Promise.resolve(said(''));
  };
  await clearUser(listen, { name: 'x', uid: 58_999 }, unit);
  expect(script.replaceAll('$$', '')).not.toContain('$');
  // As systemd expands it.
  expect(script.replaceAll('$$', () => '$')).toBe(clearUserScript);
});

test.each(['', '0', '99', 'me', '1 2'])('the script kills no process of the uid %j', async (uid) => {
  const { code, output } = await runCommand('/bin/sh', ['-c', clearUserScript, 'sh', 'x', uid, unit], 10_000);
  expect([code, output]).toEqual([2, `not the uid of an agent: ${uid}\n`]);
});
