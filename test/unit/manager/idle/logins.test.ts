import { expect, test } from 'vitest';
import {
  inhibitors,
  type SeenProcess,
  sessionLogins,
  sshLogins,
} from '../../../../src/manager/idle/presence.ts';

/** A session file of logind, systemd 252. */
const session = (changes: Readonly<Record<string, string>> = {}): string =>
  Object.entries({
    UID: '1000',
    USER: 'lab',
    ACTIVE: '1',
    IS_DISPLAY: '0',
    STATE: 'active',
    REMOTE: '1',
    TYPE: 'tty',
    CLASS: 'user',
    SCOPE: 'session-3.scope',
    TTY: 'pts/0',
    SERVICE: 'sshd',
    LEADER: '812',
    REALTIME: '1795352700000000',
    MONOTONIC: '5100000',
    ...changes,
  })
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
const process = (pid: number, comm: string, changes: Partial<SeenProcess> = {}): SeenProcess => ({
  pid,
  parent: 1,
  comm,
  cgroups: [],
  ...changes,
});
const ofSession = (pid: number, comm: string): SeenProcess =>
  process(pid, comm, { cgroups: ['/user.slice/user-1000.slice/session-3.scope'] });
const closing = session({ STATE: 'closing' });

test.each<[string, string, readonly SeenProcess[], readonly string[]]>([
  ['at a terminal', session(), [], ['lab is logged in since 2026-11-22 13:05 UTC']],
  [
    'at a desktop',
    session({ TTY: '', TYPE: 'wayland' }),
    [],
    ['lab is logged in since 2026-11-22 13:05 UTC'],
  ],
  [
    'without a terminal, like rsync',
    session({ TTY: '' }),
    [],
    ['lab is logged in since 2026-11-22 13:05 UTC'],
  ],
  ['a cron job', session({ CLASS: 'background' }), [], ['lab is logged in since 2026-11-22 13:05 UTC']],
  ['with an invalid time', session({ REALTIME: 'x' }), [], ['lab is logged in']],
  ['a login screen', session({ CLASS: 'greeter', USER: 'gdm' }), [], []],
  ['a lock screen', session({ CLASS: 'lock-screen' }), [], []],
  ["a user's service manager", session({ CLASS: 'manager' }), [], []],
  ['logged out', closing, [], []],
  [
    'logged out, tmux is running',
    closing,
    [ofSession(9, 'tmux: server')],
    ['lab has logged out and left tmux: server running'],
  ],
  [
    'logged out, only helpers are running',
    closing,
    [ofSession(9, 'ssh-agent'), ofSession(8, 'gpg-agent'), ofSession(7, 'sshd')],
    [],
  ],
  [
    'logged out, another session has tmux',
    closing,
    [process(9, 'tmux: server', { cgroups: ['/user.slice/session-33.scope'] })],
    [],
  ],
  [
    'logged out, many programs are running',
    closing,
    ['screen', 'python', 'python', 'bash', 'tail', 'vim'].map((comm, pid) => ofSession(pid, comm)),
    ['lab has logged out and left screen, python, bash and 2 more running'],
  ],
])('%s', (_, text, processes, expected) => {
  expect(sessionLogins(new Map([['3', text]]), processes).map(({ what }) => what)).toEqual(expected);
});

test.each<[string, readonly SeenProcess[], readonly number[]]>([
  ['only the server', [process(100, 'sshd', { uid: 0 })], []],
  [
    'failed password attempts',
    [
      process(100, 'sshd', { uid: 0 }),
      process(101, 'sshd', { uid: 0, parent: 100 }),
      process(102, 'sshd', { uid: 105, parent: 101 }),
    ],
    [],
  ],
  [
    'a user, also one that only forwards ports',
    [
      process(100, 'sshd', { uid: 0 }),
      process(101, 'sshd', { uid: 0, parent: 100 }),
      process(102, 'sshd', { uid: 1000, parent: 101 }),
    ],
    [102],
  ],
  [
    'root with a shell',
    [
      process(100, 'sshd', { uid: 0 }),
      process(101, 'sshd-session', { uid: 0, parent: 100 }),
      process(102, 'bash', { parent: 101 }),
    ],
    [101],
  ],
  [
    'Dropbear',
    [
      process(100, 'dropbear', { uid: 0 }),
      process(101, 'dropbear', { uid: 0, parent: 100 }),
      process(102, 'sh', { parent: 101 }),
    ],
    [101],
  ],
  [
    'a user with a logind session',
    [process(102, 'sshd', { uid: 1000, cgroups: ['/user.slice/user-1000.slice/session-3.scope'] })],
    [],
  ],
])('over SSH without a session: %s', (_, processes, pids) => {
  expect(sshLogins(processes).map(({ key }) => key)).toEqual(pids.map((pid) => `ssh ${pid}`));
});

test.each<[string, string, readonly string[]]>([
  [
    'a running package manager',
    'WHAT=shutdown\nMODE=block\nUID=0\nPID=4\nWHO=APT\nWHY="APT is installing or removing packages"\n',
    ['APT inhibits the shutdown: APT is installing or removing packages'],
  ],
  ['together with sleep', 'WHAT=sleep:shutdown\nMODE=block\nWHO=ann\n', ['ann inhibits the shutdown']],
  ['a delay only', 'WHAT=shutdown\nMODE=delay\nWHO=Unattended Upgrades Shutdown\n', []],
  ['the lid switch only', 'WHAT=handle-lid-switch\nMODE=block\nWHO=gnome\n', []],
])('inhibitors: %s', (_, text, expected) => {
  expect(inhibitors(new Map([['1', text]])).map(({ what }) => what)).toEqual(expected);
});
