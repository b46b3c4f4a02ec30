import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommand, type RunCommand } from '../../../../src/manager/machine/command.ts';
import { readProcess } from '../../../../src/manager/machine/process.ts';
import { endProcesses } from '../../../../src/manager/other-processes/watch.ts';

let folder: string;
let children: ChildProcess[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'end-'));
  children = [];
});
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** A process with a name of its own choice, as /proc shows it. */
async function sleeper(name: string) {
  const program = join(folder, name);
  copyFileSync('/bin/sleep', program);
  const child = spawn(program, ['600']);
  children.push(child);
  await new Promise((resolve) => child.once('spawn', resolve));
  const seen = await readProcess(child.pid ?? 0, '/proc', Date.now);
  if (seen === undefined) throw new Error('the process is gone');
  return { child, ...seen };
}

/** Carries out what systemd is asked for, after it has expanded what it takes for its variables. */
const systemd: RunCommand = (program, args, deadlineMs) => {
  expect([program, ...args.slice(0, 4)]).toEqual(['systemd-run', '--wait', '--pipe', '--quiet', '/bin/sh']);
  return runCommand(
    '/bin/sh',
    args.slice(4).map((arg) => arg.replaceAll('$$', '$')),
    deadlineMs,
  );
};

const ended = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)));

test('each is killed, whatever it calls itself', async () => {
  const all = await Promise.all(['train', 'a) S 1 (b', 'x\n1 (y) S'].map(sleeper));
  const deaths = all.map(({ child }) => ended(child));
  await endProcesses(systemd, all);
  expect(await Promise.all(deaths)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL']);
});

test('one that has got the number since is left alone, and the next one is killed all the same', async () => {
  const [other, meant] = await Promise.all([sleeper('other'), sleeper('meant')]);
  const death = ended(meant.child);
  await endProcesses(systemd, [
    { ...other, startTicks: other.startTicks - 1 },
    { pid: 4_194_303, startTicks: 1 },
    meant,
  ]);
  expect(await death).toBe('SIGKILL');
  expect(other.child.exitCode ?? other.child.signalCode).toBeNull();
});
