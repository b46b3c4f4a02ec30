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

/** Starts a process with a given name; returns it as /proc shows it. */
async function sleeper(name: string) {
  const program = join(folder, name);
  copyFileSync('/bin/sleep', program);
  const child = spawn(program, ['600']);
  children.push(child);
  await new Promise((resolve) => child.once('spawn', resolve));
  const seen = await readProcess(child.pid ?? 0, '/proc', Date.now);
  if (seen === undefined) throw new Error('the process has exited');
  return { child, ...seen };
}

/** Runs the command of systemd-run, with $$ expanded as systemd does. */
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

test('processes with hostile names are killed', async () => {
  const all = await Promise.all(['train', 'a) S 1 (b', 'x\n1 (y) S'].map(sleeper));
  const signals = all.map(({ child }) => ended(child));
  await endProcesses(systemd, all);
  expect(await Promise.all(signals)).toEqual(['SIGKILL', 'SIGKILL', 'SIGKILL']);
});

test('a process that reused the pid is not killed, and the next process is', async () => {
  const [other, target] = await Promise.all([sleeper('other'), sleeper('target')]);
  const signal = ended(target.child);
  await endProcesses(systemd, [
    { ...other, startTicks: other.startTicks - 1 },
    { pid: 4_194_303, startTicks: 1 },
    target,
  ]);
  expect(await signal).toBe('SIGKILL');
  expect(other.child.exitCode ?? other.child.signalCode).toBeNull();
});
