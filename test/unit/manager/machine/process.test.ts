import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readProcess } from '../../../../src/manager/machine/process.ts';

let proc: string;
beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), 'proc-'));
  mkdirSync(join(proc, '1'));
  writeFileSync(join(proc, 'uptime'), '1000.00 4000.00\n');
  writeFileSync(join(proc, '1/cgroup'), '0::/init.scope\n');
});
afterEach(() => rmSync(proc, { recursive: true }));

/** Fields 3 to 22 of /proc/PID/stat: the state, the parent, 17 others, the start. */
const rest = (state: string, ticks: number): string =>
  [state, 7, ...Array.from({ length: 17 }, () => 0), ticks].join(' ');

function put(comm: string, cgroup: string): void {
  mkdirSync(join(proc, '42'));
  writeFileSync(join(proc, '42/stat'), `42 (${comm}) ${rest('D', 90_000)} 0 0\n`);
  writeFileSync(join(proc, '42/status'), `Name:\tx\nUid:\t1000\t1001\t1000\t1000\nGid:\t5\t5\t5\t5\n`);
  writeFileSync(join(proc, '42/cgroup'), cgroup);
}

const read = (pid: number) => readProcess(pid, proc, () => 2_000_000);

test('a process that started a hundred seconds ago', async () => {
  put('python3', '0::/user.slice/user-1000.slice/session-3.scope\n');
  expect(await read(42)).toEqual({
    pid: 42,
    parent: 7,
    uid: 1000,
    comm: 'python3',
    state: 'D',
    startTicks: 90_000,
    startedAt: 1_900_000,
    cgroups: ['/user.slice/user-1000.slice/session-3.scope'],
  });
});

test.each(['a) S 1 (b', 'x)\n1 (init) S 0', '()', ' '])(
  'the name %j changes no other field',
  async (comm) => {
    put(comm, '0::/x\n');
    expect(await read(42)).toMatchObject({ comm, state: 'D', startTicks: 90_000 });
  },
);

test('control groups with a colon, and those of version 1, each once', async () => {
  put('x', '12:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/a:b\n');
  expect((await read(42))?.cgroups).toEqual(['/docker/abc', '/a:b']);
});

test('a machine that is a container has no container prefix', async () => {
  writeFileSync(join(proc, '1/cgroup'), '2:memory:/docker/outer\n1:name=systemd:/docker/outer/init.scope\n');
  put(
    'x',
    '3:cpu:/docker/outer\n2:memory:/docker/outer/docker/inner\n1:name=systemd:/docker/outer/system.slice/ssh.service\n',
  );
  expect((await read(42))?.cgroups).toEqual(['/', '/docker/inner', '/system.slice/ssh.service']);
});

test.each(['stat', 'status', 'cgroup'])('a process without %s does not exist', async (file) => {
  put('x', '0::/\n');
  rmSync(join(proc, '42', file));
  expect(await read(42)).toBeUndefined();
});

test('reads this process from the real /proc', async () => {
  const seen = await readProcess(process.pid, '/proc', Date.now);
  expect(seen).toMatchObject({ pid: process.pid, uid: process.getuid?.() });
  expect(Math.abs((seen?.startedAt ?? 0) - (Date.now() - process.uptime() * 1000))).toBeLessThan(60_000);
});
