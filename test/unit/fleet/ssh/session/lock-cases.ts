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
      given: (host) => host.file(last, note('other')),
      after: {
        code: 76,
        stdout: `passed ${note('other')}`,
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
      name: 'is broken on request',
      script: breaking,
      given: async (host) => {
        await held(host, note('other'));
      },
      after: {
        stdout: `broke ${note('other')}locked\n${heartbeat}`,
        calls: ['flock -n 9', 'flock -w 10 9', noted, awaitBeat],
        files: { ...removed, ...lastNote },
      },
    },
    {
      name: 'is not broken if its holder cannot be ended',
      script: breaking,
      given: async (host) => {
        await held(host, note('other'));
        host.file('/run/azp-fleet/lock.pid', '');
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
