import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { expect, it } from 'vitest';

import { lockHolder } from '../../../../src/fleet/packages/shell.ts';
import { hangsMs, ScratchHost } from '../../../support/scratch/host.ts';

const file = '/var/lib/dpkg/lock';
const pidFile = '/var/lib/dnf/rpmdb_lock.pid';

/** Returns the lock holders if a process locks the file's inode on the device `fe:00`. */
async function holders(mounts: (mount: string) => string, pid?: string): Promise<string> {
  const host = new ScratchHost();
  try {
    host.file(file).file('/proc/812/comm', 'apt-get\n');
    if (pid !== undefined) host.file(pidFile, pid);
    const { ino } = statSync(host.at(file));
    const mount = execFileSync('stat', ['-c', '%m', host.at(file)], { encoding: 'utf8' }).trim();
    host
      .file('/proc/locks', `1: POSIX  ADVISORY  WRITE 812 fe:00:${ino} 0 EOF\n`)
      .file('/proc/self/mountinfo', mounts(mount));
    const { stdout, stderr } = await host.run(`${lockHolder([file, pidFile])}\npackage_lock_holder`, {
      flags: ['-eu'],
      args: [],
      input: '',
      env: {},
      umask: '022',
      limitMs: hangsMs,
    });
    expect(stderr).toBe('');
    return stdout;
  } finally {
    host.remove();
  }
}

const held = `apt-get (pid 812) holds ${file}\n`;

it.each([
  ['is held if inode and device match', '254:0', held],
  ['is not held if the device differs', '254:1', ''],
])('a lock %s', async (_, device, expected) => {
  expect(
    await holders((mount) => `1 1 9:9 / /elsewhere rw - x x rw\n2 1 ${device} / ${mount} rw - x x rw\n`),
  ).toBe(expected);
});

it('a lock is held if the device is unknown', async () => {
  expect(await holders(() => '')).toBe(held);
});

it.each([
  ['holds if that process runs', '812\n', `${held}apt-get (pid 812) holds ${pidFile}\n`],
  ['as dnf writes it, without a newline, holds', '812', `${held}apt-get (pid 812) holds ${pidFile}\n`],
  ['holds nothing if it is empty', '', held],
  ['holds nothing if that process has exited', '813\n', held],
])('a file with a process id %s', async (_, pid, expected) => {
  expect(await holders(() => '', pid)).toBe(expected);
});
