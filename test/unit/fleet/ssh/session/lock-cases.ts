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

/** Somebody else holds the lock, with a note of it and of the process that does. */
async function held(host: ScratchHost, by: string | undefined): Promise<number> {
  host.folder('/run/azp-fleet');
  const pid = await host.beside(
    "trap '' HUP INT QUIT TERM USR1; exec 8>>/run/azp-fleet/lock; flock 8; echo held; exec tail -f /dev/null",
  );
  // As the shell has it while it waits for a sign of life.
  host.link(`/proc/${pid}/fd/1`, '/dev/null').link(`/proc/${pid}/fd/10`, '/run/azp-fleet/lock');
  if (by !== undefined)
    host.file('/run/azp-fleet/lock.owner', by).file('/run/azp-fleet/lock.pid', `${pid}\n`);
  return pid;
}

const kept = { '/var/lib/azp-fleet': '700 /', [last]: `644 ${note('mine')}` };
const taken = { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ', ...kept };
const over = { '/run/azp-fleet/lock.owner': 'gone', '/run/azp-fleet/lock.pid': 'gone' };
const sign = "timeout 60 /bin/sh -c 'IFS= read -r x'";
const noted = `sync ${last} /var/lib/azp-fleet`;
const seen = ['flock -n 9', noted, sign];
const beat = `${note('mine')}1234\n644\n644\n644\n`;

/** What is there to be seen while a sign of life is waited for. */
const holder = `cd /run/azp-fleet
cat lock.owner lock.heard
stat -c %a lock.owner lock.pid lock.heard
read -r pid <lock.pid
[ "$pid" = "$PPID" ] || echo "not the holder's"
! /bin/flock -n lock true || echo 'not held'
{ true >&9; } 2>/dev/null && echo 'the descriptor goes on'
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
      name: 'is taken, with a note of whom it belongs to, and gone at the end of the input',
      script: first,
      given: (host) => host.file('/run/azp-fleet/lock', 'of other days'),
      run: { umask: '077' },
      after: { stdout: `locked\n${beat}`, calls: seen, files: kept },
    },
    {
      name: 'is held as long as lines come, each a sign of life',
      script: first,
      given: (host) => host.program('timeout', `echo 2345.67 >/proc/uptime\n${holder}`),
      run: { input: '\n\n' },
      after: {
        stdout: `locked\n${beat}${beat.replace('1234', '2345').repeat(2)}`,
        calls: [...seen, sign, sign],
        files: { ...taken, '/proc/uptime': '644 2345.67\n' },
      },
    },
    {
      name: 'is refused while another one has it, whose last sign of life is told',
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
      name: 'of one who gave no sign of life that could be told is refused',
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
      name: 'is taken over from our own run before a cut',
      script: again,
      given: async (host) => {
        await held(host, note('mine'));
        host.file(last, note('mine'));
      },
      after: {
        stdout: `broke ${note('mine')}locked\n${beat}`,
        calls: ['flock -n 9', 'flock -w 10 9', noted, sign],
        files: over,
      },
    },
    {
      name: 'that our own run has lost is taken again where nobody came',
      script: again,
      given: (host) => host.file(last, note('mine')),
      after: {
        stdout: `locked\n${beat}`,
        calls: seen,
        files: { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ' },
      },
    },
    {
      name: 'is not taken again where somebody else has had it since, be it that the host was restarted',
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
      name: 'is not taken again where nothing tells who had it',
      script: again,
      after: {
        code: 76,
        stdout: 'passed \n',
        calls: ['flock -n 9'],
        files: { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ', '/var/lib/azp-fleet': '700 /' },
      },
    },
    {
      name: 'is not taken again from somebody who has it now',
      script: again,
      given: async (host) => {
        await held(host, note('other'));
        host.file(last, note('mine'));
      },
      after: { code: 75, stdout: `held - ${note('other')}`, calls: ['flock -n 9'] },
    },
    {
      name: 'is taken by a run that has not had it, whoever had it last',
      script: first,
      given: (host) => host.file(last, note('other')),
      after: {
        stdout: `locked\n${beat}`,
        calls: seen,
        files: {
          '/run/azp-fleet': '755 /',
          '/run/azp-fleet/lock': '644 ',
          [last]: `644 ${note('mine')}`,
        },
      },
    },
    {
      name: 'is broken where that was asked for',
      script: breaking,
      given: async (host) => {
        await held(host, note('other'));
      },
      after: {
        stdout: `broke ${note('other')}locked\n${beat}`,
        calls: ['flock -n 9', 'flock -w 10 9', noted, sign],
        files: { ...over, ...kept },
      },
    },
    {
      name: 'is not broken where its holder cannot be ended',
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
      name: 'whose note is of other days ends nobody who has that number now',
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
      name: 'of somebody who left no note cannot be broken either',
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
      name: 'that is held without a note is held all the same',
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
      name: 'of an endless note is told with the beginning of it',
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
      name: 'cannot be taken where its folder cannot be made',
      script: first,
      given: (host) => host.file('/run/azp-fleet'),
      after: { code: 1, stderr: "mkdir: cannot create directory '/run/azp-fleet': File exists\n" },
    },
    {
      name: 'cannot be taken where nothing can be kept of it',
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
