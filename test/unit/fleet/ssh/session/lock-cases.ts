import { lockScript } from '../../../../../src/fleet/ssh/session/lock.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../../support/scratch/host.ts';

const owner = {
  who: "ann@o'hara",
  command: 'azp-fleet provision "a  b".yaml',
  since: '2026-11-21T00:00:00Z',
};
const first = lockScript(owner, 'mine', 'first');
const again = lockScript(owner, 'mine', 'again');
const breaking = lockScript(owner, 'mine', 'break');
const note = (id: string) => `${JSON.stringify({ ...owner, id })}\n`;
const last = '/var/lib/azp-fleet/lock.last';

/** Lets another process hold the lock, with a note and its process id. */
async function held(host: ScratchHost, by: string | undefined): Promise<number> {
  host.folder('/run/azp-fleet');
  const pid = await host.beside(
    "trap '' HUP INT QUIT TERM USR1; exec 8>>/run/azp-fleet/lock; flock 8; echo held; exec tail -f /dev/null",
  );
  // As in the shell that waits for a heartbeat.
  host.link(`/proc/${pid}/fd/1`, '/dev/null').link(`/proc/${pid}/fd/10`, '/run/azp-fleet/lock');
  if (by !== undefined)
    host.file('/run/azp-fleet/lock.owner', by).file('/run/azp-fleet/lock.pid', `${pid}\n`);
  return pid;
}

const lastNote = { '/var/lib/azp-fleet': '700 /', [last]: `644 ${note('mine')}` };
const taken = { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ', ...lastNote };
const removed = { '/run/azp-fleet/lock.owner': 'gone', '/run/azp-fleet/lock.pid': 'gone' };
const entry = {
  host: 'box',
  run: 'run-1',
  who: owner.who,
  command: owner.command,
  key: 'SHA256:abc',
  plan: '0123',
  changes: ['manager-token-1'],
};
const audited = lockScript(owner, 'mine', 'first', entry);
const auditedAgain = lockScript(owner, 'mine', 'again', entry);
const log = '/var/lib/azp-fleet/audit.jsonl';
/** The line of an event, as a login by `lab` from 192.0.2.7 writes it. */
const auditLine = (event: string, outcome?: string, by = { login: 'lab', from: '192.0.2.7' }) =>
  `${JSON.stringify({ at: '2026-11-28T14:00:00Z', event, ...by, ...entry, ...(outcome === undefined ? {} : { outcome }) })}\n`;
const shownEntry = 'timeout 5 logger -t azp-fleet-audit -p authpriv.notice -S 8192';
const bySudo = { SUDO_USER: 'lab', SSH_CONNECTION: '192.0.2.7 50000 192.0.2.1 22' };

const awaitBeat = "timeout 60 /bin/sh -c 'IFS= read -r x'";
const noted = `sync ${last} /var/lib/azp-fleet`;
const seen = ['flock -n 9', noted, awaitBeat];
const heartbeat = `${note('mine')}1234\n644\n644\n644\n`;

/** Prints the files of the lock while its script waits for a heartbeat. */
const holder = `cd /run/azp-fleet
cat lock.owner lock.heard
stat -c %a lock.owner lock.pid lock.heard
read -r pid <lock.pid
[ "$pid" = "$PPID" ] || echo "not the holder's"
! /bin/flock -n lock true || echo 'not held'
{ true >&9; } 2>/dev/null && echo 'the descriptor is inherited'
shift
exec "$@"`;

export const lockSuite: ScriptSuite = {
  name: "the host's lock",
  flags: [],
  given: (host) =>
    host
      .file('/proc/uptime', '1234.56 99.00\n')
      .program('sync', '')
      .program('flock', 'exec /bin/flock "$@"')
      .program('timeout', holder),
  cases: [
    {
      name: 'is taken, with a note of its owner, and released at the end of the input',
      script: first,
      given: (host) => host.file('/run/azp-fleet/lock', 'from an earlier run'),
      run: { umask: '077' },
      after: { stdout: `locked\n${heartbeat}`, calls: seen, files: lastNote },
    },
    {
      name: 'is held as long as lines come, each a heartbeat',
      script: first,
      given: (host) => host.program('timeout', `echo 2345.67 >/proc/uptime\n${holder}`),
      run: { input: '\n\n' },
      after: {
        stdout: `locked\n${heartbeat}${heartbeat.replace('1234', '2345').repeat(2)}`,
        calls: [...seen, awaitBeat, awaitBeat],
        files: { ...taken, '/proc/uptime': '644 2345.67\n' },
      },
    },
    {
      name: 'is refused while another run has it, with the seconds since its last heartbeat',
      script: first,
      given: async (host) => {
        await held(host, note('other'));
        host.file('/run/azp-fleet/lock.heard', '1200\n');
      },
      after: {
        code: 75,
        stdout: `held 34 ${note('other')}`,
        calls: ['flock -n 9'],
        files: { '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'is refused while another run has it without a valid heartbeat',
      script: first,
      given: async (host) => {
        await held(host, note('other'));
        host.file('/run/azp-fleet/lock.heard', '12 00; echo x\n');
      },
      after: {
        code: 75,
        stdout: `held - ${note('other')}`,
        calls: ['flock -n 9'],
        files: { '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'is taken from our own run before a cut',
      script: again,
      given: async (host) => {
        await held(host, note('mine'));
        host.file(last, note('mine'));
      },
      after: {
        stdout: `broke ${note('mine')}locked\n${heartbeat}`,
        calls: ['flock -n 9', 'flock -w 10 9', noted, awaitBeat],
        files: removed,
      },
    },
    {
      name: 'that our run lost is taken again if no other run had it',
      script: again,
      given: (host) => host.file(last, note('mine')),
      after: {
        stdout: `locked\n${heartbeat}`,
        calls: seen,
        files: { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ' },
      },
    },
    {
      name: 'is not taken again if another run had it, even after a reboot',
      script: again,
      given: (host) => host.file(last, `other  ${'x'.repeat(10_000)}`),
      after: {
        code: 76,
        stdout: `passed other  ${'x'.repeat(4089)}\n`,
        calls: ['flock -n 9'],
        files: { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ' },
      },
    },
    {
      name: 'is not taken again if the last owner is unknown',
      script: again,
      after: {
        code: 76,
        stdout: 'passed \n',
        calls: ['flock -n 9'],
        files: { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ', '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'is not taken again from another run that has it',
      script: again,
      given: async (host) => {
        await held(host, note('other'));
        host.file(last, note('mine'));
      },
      after: { code: 75, stdout: `held - ${note('other')}`, calls: ['flock -n 9'] },
    },
    {
      name: 'is taken by a new run after any holder',
      script: first,
      given: (host) => host.file(last, note('other')),
      after: {
        stdout: `locked\n${heartbeat}`,
        calls: seen,
        files: {
          '/run/azp-fleet': '755 /',
          '/run/azp-fleet/lock': '644 ',
          [last]: `644 ${note('mine')}`,
        },
      },
    },
    {
      name: 'is broken on request, with the first 4096 bytes of its note',
      script: breaking,
      given: async (host) => {
        await held(host, `other${'x'.repeat(10_000)}`);
      },
      after: {
        stdout: `broke other${'x'.repeat(4091)}\nlocked\n${heartbeat}`,
        calls: ['flock -n 9', 'flock -w 10 9', noted, awaitBeat],
        files: { ...removed, ...lastNote },
      },
    },
    {
      name: 'is not broken if its holder cannot be ended',
      script: breaking,
      given: async (host) => {
        await held(host, note('other'));
        host.file('/run/azp-fleet/lock.pid', '99999999\n').link('/proc/99999999/fd/9', '/run/azp-fleet/lock');
        host.program('flock', '[ "$1" != -w ] && exec /bin/flock "$@"');
      },
      after: {
        code: 75,
        stdout: `held - ${note('other')}`,
        calls: ['flock -n 9', 'flock -w 10 9'],
        files: { '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'with an old note does not end another process with the same id',
      script: breaking,
      given: async (host) => {
        const pid = await held(host, note('other'));
        const other = await host.beside('echo here; exec tail -f /dev/null');
        host.drop(`/proc/${pid}`).link(`/proc/${other}/fd/9`, '/run/azp-fleet/lock2');
        host.file('/run/azp-fleet/lock.pid', `${other}\n`);
        host.program('flock', `[ "$1" != -w ] && exec /bin/flock "$@"; ! kill -0 ${other}`);
      },
      after: {
        code: 75,
        stdout: `held - ${note('other')}`,
        calls: ['flock -n 9', 'flock -w 10 9'],
        files: { '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'without a note cannot be broken',
      script: breaking,
      given: async (host) => {
        await held(host, undefined);
        host.program('flock', '[ "$1" != -w ] && exec /bin/flock "$@"');
      },
      after: {
        code: 75,
        stdout: 'held - \n',
        calls: ['flock -n 9', 'flock -w 10 9'],
        files: { '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'without a note is held, too',
      script: first,
      given: async (host) => {
        await held(host, undefined);
      },
      after: {
        code: 75,
        stdout: 'held - \n',
        calls: ['flock -n 9'],
        files: { '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'with an endless note is reported with the first 4096 bytes',
      script: first,
      given: async (host) => {
        await held(host, 'x'.repeat(10_000));
      },
      after: {
        code: 75,
        stdout: `held - ${'x'.repeat(4096)}\n`,
        calls: ['flock -n 9'],
        files: { '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'cannot be taken if its folder cannot be created',
      script: first,
      given: (host) => host.file('/run/azp-fleet'),
      after: { code: 1, stderr: "mkdir: cannot create directory '/run/azp-fleet': File exists\n" },
    },
    {
      name: 'cannot be taken if the folder of its last owner cannot be created',
      script: first,
      given: (host) => host.file('/var/lib/azp-fleet'),
      after: {
        code: 1,
        stderr: "mkdir: cannot create directory '/var/lib/azp-fleet': File exists\n",
        files: { '/run/azp-fleet': '755 /' },
      },
    },
    {
      name: 'cannot be taken if its note cannot be written',
      script: first,
      given: (host) => host.folder(last),
      after: {
        code: 1,
        stderr: `script: cannot create ${last}: Is a directory\n`,
        calls: ['flock -n 9'],
        files: { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ' },
      },
    },
  ],
};

/** What the script calls around an event. */
const written = ['date -u +%Y-%m-%dT%H:%M:%SZ', shownEntry, shownEntry.replace('timeout 5 ', '')];
const awaitWord = `timeout 60 /bin/sh -c 'IFS= read -r x || exit; [ -z "$x" ] || printf "%s\\n" "$x" >"$1"' sh /run/azp-fleet/lock.said`;
/** The calls of a script that takes the lock, gets this many lines, and ends. */
const auditCalls = (lines: number) => [
  'flock -n 9',
  noted,
  ...written,
  ...Array.from({ length: lines + 1 }, () => awaitWord),
  ...written,
];
/** The system's log. */
const logged = '/var/log/messages';
const lines = (...all: readonly string[]) => ({
  [log]: `600 ${all.join('')}`,
  [logged]: `644 ${all.join('')}`,
});
const most = 4 * 1024 * 1024;

export const auditSuite: ScriptSuite = {
  name: 'the audit file of a host',
  flags: [],
  given: (host) =>
    host
      .folder('/var/log')
      .file('/proc/uptime', '1234.56 99.00\n')
      .program('sync', '')
      .program('flock', 'exec /bin/flock "$@"')
      .program('date', 'echo 2026-11-28T14:00:00Z')
      .program('id', 'echo root')
      .program('logger', `cat >>${logged}`)
      .program('timeout', 'shift; exec "$@"'),
  cases: [
    {
      name: 'has who, from where and what, before the lock is reported, and the outcome',
      script: audited,
      run: { env: bySudo, input: '\nchanged 3\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(2),
        files: { ...taken, ...lines(auditLine('begin'), auditLine('end', 'changed 3')) },
      },
    },
    {
      name: 'names a run that took the lock again, and one that was cut, whatever an earlier one left',
      script: auditedAgain,
      given: (host) =>
        host
          .file(last, note('mine'))
          .file('/run/azp-fleet/lock.owner', note('other'))
          .file('/run/azp-fleet/lock.said', 'changed 3\n')
          .program('timeout', '[ "$1" = 5 ] || cat /run/azp-fleet/lock.[oh]*; shift; exec "$@"'),
      run: { env: bySudo },
      after: {
        stdout: `locked\n1234\n${note('mine')}`,
        calls: auditCalls(0),
        files: {
          '/run/azp-fleet/lock': '644 ',
          '/run/azp-fleet/lock.owner': 'gone',
          '/run/azp-fleet/lock.said': 'gone',
          ...lines(auditLine('resume'), auditLine('cut')),
        },
      },
    },
    {
      name: 'of a login as root has its own address, without sudo',
      script: audited,
      run: { env: { SSH_CONNECTION: 'fe80::1%eth0 50000 fe80::2 22' }, input: 'ok 0\n' },
      after: {
        stdout: 'locked\n',
        calls: [...auditCalls(1).slice(0, 2), 'id -un', ...auditCalls(1).slice(2)],
        files: {
          ...taken,
          ...lines(
            auditLine('begin', undefined, { login: 'root', from: 'fe80::1%eth0' }),
            auditLine('end', 'ok 0', { login: 'root', from: 'fe80::1%eth0' }),
          ),
        },
      },
    },
    {
      name: 'has the address that sudo knows, if the script does not',
      script: audited,
      given: (host) =>
        host.file(`/proc/${process.pid}/environ`, 'A=1\0SSH_CONNECTION=192.0.2.7 50000 192.0.2.1 22\0B=2\0'),
      run: { env: { SUDO_USER: 'lab' }, input: 'ok 0\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(1),
        files: { ...taken, ...lines(auditLine('begin'), auditLine('end', 'ok 0')) },
      },
    },
    {
      name: 'has no address where no process knows it',
      script: audited,
      run: { env: { SUDO_USER: 'lab' }, input: 'ok 0\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(1),
        files: {
          ...taken,
          ...lines(
            auditLine('begin', undefined, { login: 'lab', from: '' }),
            auditLine('end', 'ok 0', { login: 'lab', from: '' }),
          ),
        },
      },
    },
    {
      name: 'takes no text of the host or the client that would break a line',
      script: audited,
      run: { env: { SUDO_USER: 'a","b', SSH_CONNECTION: 'x"y 1' }, input: 'ok "0"\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(1),
        files: {
          ...taken,
          ...lines(
            auditLine('begin', undefined, { login: 'unknown', from: 'unknown' }),
            auditLine('end', 'invalid', { login: 'unknown', from: 'unknown' }),
          ),
        },
      },
    },
    {
      name: 'is moved aside before it is longer than its limit, and replaces the earlier one',
      script: audited,
      given: (host) => host.file(log, 'x'.repeat(most)).file(`${log}.1`, 'older'),
      run: { env: bySudo, input: 'ok 0\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(1),
        files: {
          '/run/azp-fleet': '755 /',
          '/run/azp-fleet/lock': '644 ',
          [last]: `644 ${note('mine')}`,
          ...lines(auditLine('begin'), auditLine('end', 'ok 0')),
          [`${log}.1`]: `644 ${'x'.repeat(most)}`,
        },
      },
    },
    {
      name: 'continues where its size cannot be read',
      script: audited,
      given: (host) =>
        host.file(log, 'earlier\n', { mode: 0o600 }).program('stat', 'exit 1', { silent: true }),
      run: { env: bySudo, input: 'ok 0\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(1),
        files: {
          '/run/azp-fleet': '755 /',
          '/run/azp-fleet/lock': '644 ',
          [last]: `644 ${note('mine')}`,
          ...lines(auditLine('begin'), auditLine('end', 'ok 0')),
          [log]: `600 earlier\n${auditLine('begin')}${auditLine('end', 'ok 0')}`,
        },
      },
    },
    {
      name: 'that was removed meanwhile stays removed; the system log has the end',
      script: audited,
      given: (host) => host.program('timeout', `[ "$1" = 5 ] || rm -f ${log}; shift; exec "$@"`),
      run: { env: bySudo, input: 'changed 5\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(1),
        files: { ...taken, [logged]: `644 ${auditLine('begin')}${auditLine('end', 'changed 5')}` },
      },
    },
    {
      name: 'that cannot be written stops no change, nor does a missing logger',
      script: audited,
      given: (host) => host.folder(log).program('logger', 'echo "no socket" >&2; exit 1'),
      run: { env: bySudo, input: 'ok 0\n' },
      after: {
        stdout: 'locked\n',
        calls: auditCalls(1),
        files: { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ', [last]: `644 ${note('mine')}` },
      },
    },
  ],
};
