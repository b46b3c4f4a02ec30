import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { readPresence } from '../../../../src/manager/idle/presence.ts';
import { readProcess } from '../../../../src/manager/machine/process.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'presence-'));
  write('proc/uptime', '1000.0 900.0\n');
  process(1, 'systemd', 0, '0::/init.scope');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function process(pid: number, comm: string, uid: number, cgroup: string, parent = 1): void {
  const fields = Array.from({ length: 50 }, () => '0');
  [fields[0], fields[1], fields[19]] = ['S', String(parent), '500'];
  write(`proc/${pid}/stat`, `${pid} (${comm}) ${fields.join(' ')}\n`);
  write(`proc/${pid}/status`, `Name:\t${comm}\nUid:\t${uid}\t${uid}\t${uid}\t${uid}\n`);
  write(`proc/${pid}/cgroup`, `${cgroup}\n`);
}

/** Returns the uses. `units`: SubState of the units of changes, by id; `onRead`: gets the processes whose users are read. */
const usesNow = async (
  units: Readonly<Record<string, string>> = {},
  onRead: (pid: number) => void = () => undefined,
): Promise<readonly string[]> => {
  const places = { systemd: join(root, 'run'), proc: join(root, 'proc'), changes: join(root, 'changes') };
  const uses = await readPresence(places, {
    command: async (_, args) => {
      const [, id = ''] = /change-(\w+)\.service/.exec(args.join(' ')) ?? [];
      return { code: 0, output: `SubState=${units[id] ?? ''}\n`, timedOut: false, stillRunning: () => false };
    },
    process: (pid) => {
      onRead(pid);
      return readProcess(pid, join(root, 'proc'), () => 0);
    },
  });
  return uses.map(({ what }) => what);
};

test('an idle machine without logind', async () => {
  expect(await usesNow()).toEqual([]);
});

test('sessions, programs of a closed session, and inhibitors', async () => {
  write('run/sessions/3', 'USER=ann\nCLASS=user\nSTATE=online\n');
  write('run/sessions/4', 'USER=bob\nCLASS=user\nSTATE=closing\n');
  process(70, 'tmux: server', 1001, '0::/user.slice/user-1001.slice/session-4.scope');
  process(71, 'sshd', 1000, '0::/user.slice/user-1000.slice/session-3.scope', 70);
  write('run/inhibit/2', 'WHAT=shutdown\nMODE=block\nWHO=dnf\n');
  expect(await usesNow()).toEqual([
    'ann is logged in',
    'bob has logged out and left tmux: server running',
    'dnf inhibits the shutdown',
  ]);
});

test('a login over SSH without a logind session', async () => {
  process(50, 'sshd', 0, '0::/system.slice/ssh.service');
  process(51, 'sshd', 1000, '0::/system.slice/ssh.service', 50);
  expect(await usesNow()).toEqual(['uid 1000 is logged in over SSH (process 51)']);
});

test('users of processes are read for SSH servers, and of all while a session closes: a host has thousands', async () => {
  process(50, 'sshd', 0, '0::/system.slice/ssh.service');
  process(60, 'python', 1000, '0::/system.slice/x.service');
  const few = new Set<number>();
  await usesNow({}, (pid) => few.add(pid));
  expect(few).toEqual(new Set([50]));
  write('run/sessions/4', 'USER=bob\nCLASS=user\nSTATE=closing\n');
  const all = new Set<number>();
  await usesNow({}, (pid) => all.add(pid));
  expect(all).toEqual(new Set([1, 50, 60]));
});

test('changes in progress', async () => {
  write('changes/aa/title', 'install Docker\n');
  write('changes/bb/title', 'build the image\n');
  write('changes/bb/code', '0\n');
  write('changes/cc/title', 'lost in a crash\n');
  write('changes/dd/title', 'unit state unknown\n');
  expect(await usesNow({ aa: 'running', bb: 'running', cc: 'dead' })).toEqual([
    '"install Docker" of azp-fleet is in progress',
    '"unit state unknown" of azp-fleet is in progress',
  ]);
});
