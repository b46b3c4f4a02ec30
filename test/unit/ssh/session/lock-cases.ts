import { lockScript } from '../../../../src/ssh/session/lock.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../support/scratch/host.ts';

const owner = {
  who: "ann@o'hara",
  command: 'azp-fleet provision "a  b".yaml',
  since: '2026-11-21T00:00:00Z',
};
const own = lockScript(owner, 'mine', 'before');
const breaking = lockScript(owner, 'mine', 'any');
const note = (id: string) => `${JSON.stringify({ ...owner, id })}\n`;

/** Somebody else holds the lock, with a note of it and of the process that does. */
async function held(host: ScratchHost, by: string | undefined): Promise<void> {
  host.folder('/run/azp-fleet');
  const pid = await host.beside(
    "trap '' HUP INT QUIT TERM USR1; exec 8>>/run/azp-fleet/lock; flock 8; echo held; exec tail -f /dev/null",
  );
  if (by !== undefined)
    host.file('/run/azp-fleet/lock.owner', by).file('/run/azp-fleet/lock.pid', `${pid}\n`);
}

const taken = { '/run/azp-fleet': '755 /', '/run/azp-fleet/lock': '644 ' };
const over = { '/run/azp-fleet/lock.owner': 'gone', '/run/azp-fleet/lock.pid': 'gone' };
const signs = ["timeout 60 /bin/sh -c 'IFS= read -r x'"];
const seen = ['flock -n 9', ...signs];

export const lockSuite: ScriptSuite = {
  name: "the host's lock",
  flags: [],
  given: (host) =>
    host.program('flock', 'exec /bin/flock "$@"').program(
      'timeout',
      `cd /run/azp-fleet
cat lock.owner
stat -c %a lock.owner lock.pid
read -r pid <lock.pid
[ "$pid" = "$PPID" ] || echo "not the holder's"
! /bin/flock -n lock true || echo 'not held'
{ true >&9; } 2>/dev/null && echo 'the descriptor goes on'
shift
exec "$@"`,
    ),
  cases: [
    {
      name: 'is taken, with a note of whom it belongs to, and gone at the end of the input',
      script: own,
      given: (host) => host.file('/run/azp-fleet/lock', 'of other days'),
      run: { umask: '077' },
      after: {
        stdout: `locked\n${note('mine')}644\n644\n`,
        calls: seen,
      },
    },
    {
      name: 'is held as long as lines come',
      script: own,
      run: { input: '\n\n' },
      after: {
        stdout: `locked\n${`${note('mine')}644\n644\n`.repeat(3)}`,
        calls: ['flock -n 9', ...signs, ...signs, ...signs],
        files: taken,
      },
    },
    {
      name: 'is refused while another one has it',
      script: own,
      given: (host) => held(host, note('other')),
      after: { code: 75, stdout: `held ${note('other')}`, calls: ['flock -n 9'] },
    },
    {
      name: 'is taken over from our own run before a cut',
      script: own,
      given: (host) => held(host, note('before')),
      after: {
        stdout: `broke ${note('before')}locked\n${note('mine')}644\n644\n`,
        calls: ['flock -n 9', 'flock -w 10 9', ...signs],
        files: over,
      },
    },
    {
      name: 'is broken where that was asked for',
      script: breaking,
      given: (host) => held(host, note('other')),
      after: {
        stdout: `broke ${note('other')}locked\n${note('mine')}644\n644\n`,
        calls: ['flock -n 9', 'flock -w 10 9', ...signs],
        files: over,
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
      after: { code: 75, stdout: `held ${note('other')}`, calls: ['flock -n 9', 'flock -w 10 9'] },
    },
    {
      name: 'of somebody who left no note cannot be broken either',
      script: breaking,
      given: async (host) => {
        await held(host, undefined);
        host.program('flock', '[ "$1" != -w ] && exec /bin/flock "$@"');
      },
      after: { code: 75, stdout: 'held \n', calls: ['flock -n 9', 'flock -w 10 9'] },
    },
    {
      name: 'that is held without a note is held all the same',
      script: own,
      given: (host) => held(host, undefined),
      after: { code: 75, stdout: 'held \n', calls: ['flock -n 9'] },
    },
    {
      name: 'cannot be taken where its folder cannot be made',
      script: own,
      given: (host) => host.file('/run/azp-fleet'),
      after: { code: 1, stderr: "mkdir: cannot create directory '/run/azp-fleet': File exists\n" },
    },
  ],
};
