import { runAlone } from '../../../../../src/fleet/facts/probe.ts';
import { frameScript } from '../../../../../src/fleet/ssh/session/frames.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';

const slow = { name: 'slow', script: `echo it; ${runAlone}; cat; echo "$#"`, timeoutS: 20 };
const probes = [
  { name: 'well', script: "echo 'two  blanks'\necho \"it's err\" >&2; printf 'no newline'" },
  { name: 'fails', script: 'cat; echo "$#"; exit 7', timeoutS: 9 },
  slow,
];
const frames = frameScript(probes, 1000).replaceAll(/[0-9a-f]{24}/g, 'n0n0');
const framed = `frames n0n0

n0n0 begin well
two  blanks
no newline
n0n0 end 0 12.34 12.34 10
it's err

n0n0 begin fails
0

n0n0 end 7 12.34 12.34 9

n0n0 begin slow
it
0

n0n0 end 0 12.34 12.34 20
`;
/** Its process ends as at the limit. What is left of it writes into its file while the probe runs again. */
const hangs = `if [ -e /run/again ]; then
  : >/run/go
  until [ -e /run/wrote ]; do :; done
  echo whole
else
  : >/run/again
  kill -9 $$
  until [ -e /run/go ]; do :; done
  echo partial
  : >/run/wrote
fi`;
const shared = '-k 1 7\n-k 1 5\n';
const ofOwn = (limit: number): string => `-k 1 ${limit + 2}\n-k 1 ${limit}\n`;
const made = { '/run/made': '644 -d /run/azp-fleet-facts.XXXXXX\n' };

export const framesSuite: ScriptSuite = {
  name: 'many probes in one script',
  flags: [],
  elsewhere: [hangs],
  given: (host) =>
    host
      .file('/proc/uptime', '12.34 99.9\n')
      .program('timeout', 'echo "$1 $2 $3" >>/run/limit; shift 3; exec "$@"', { silent: true })
      .program('mktemp', 'echo "$*" >>/run/made; name=${2-/tmp/t}; mkdir -m 700 "$name" && echo "$name"', {
        silent: true,
      }),
  cases: [
    {
      name: 'each has its own frame, and none stops the next',
      script: frames,
      run: { input: 'not for probes' },
      after: {
        stdout: framed,
        files: { '/run/limit': `644 ${shared}${ofOwn(20)}`, ...made },
      },
    },
    {
      name: 'one that timed out has code 124',
      script: frames,
      given: (host) => host.program('timeout', `sed -i 's/12/13/' /proc/uptime; exit 124`, { silent: true }),
      after: {
        stdout: `frames n0n0

n0n0 begin well

n0n0 end 124 13.34 13.34 10

n0n0 begin fails

n0n0 end 124 13.34 13.34 9

n0n0 begin slow

n0n0 end 124 13.34 13.34 20
`,
        files: { '/proc/uptime': '644 13.34 99.9\n', ...made },
      },
    },
    {
      name: 'the one that the shared process did not finish runs again with its own limit, the next ones in another shared one',
      script: frameScript(
        [
          { name: 'first', script: 'echo first; echo "$#"; mkdir /run/ran' },
          { name: 'hangs', script: hangs },
          { name: 'last', script: 'echo last; exit 3', timeoutS: 9 },
        ],
        1000,
      ).replaceAll(/[0-9a-f]{24}/g, 'n0n0'),
      after: {
        stdout: `frames n0n0

n0n0 begin first
first
0

n0n0 end 0 12.34 12.34 10

n0n0 begin hangs
whole

n0n0 end 0 12.34 12.34 10

n0n0 begin last
last

n0n0 end 3 12.34 12.34 9
`,
        stderr: 'Killed\n',
        files: {
          '/run/again': '644 ',
          '/run/go': '644 ',
          '/run/wrote': '644 ',
          '/run/ran': '755 /',
          '/run/limit': `644 ${shared}${ofOwn(10)}${shared}`,
          ...made,
        },
      },
    },
    {
      name: 'if no shared process gets on, each has its own',
      script: frameScript(
        ['one', 'two', 'three', 'four', 'five', 'six'].map((name, index) => ({
          name,
          // No more than four shared processes are tried.
          script: `${index < 4 ? '[ "${shared:-}" != yes ] || kill -9 $$; ' : ''}echo ${name}`,
          timeoutS: 11 + index,
        })),
        1000,
      ).replaceAll(/[0-9a-f]{24}/g, 'n0n0'),
      after: {
        stdout: `frames n0n0
${['one', 'two', 'three', 'four', 'five', 'six']
  .map((name, index) => `\nn0n0 begin ${name}\n${name}\n\nn0n0 end 0 12.34 12.34 ${11 + index}\n`)
  .join('')}`,
        stderr: 'Killed\n'.repeat(4),
        files: {
          '/run/limit': `644 ${[11, 12, 13, 14].map((limit) => `${shared}${ofOwn(limit)}`).join('')}${ofOwn(15)}${ofOwn(16)}`,
          ...made,
        },
      },
    },
    {
      name: 'output over the limit is cut, also of one that runs on its own',
      script: frameScript(
        [...probes.slice(0, 2), { ...slow, script: `${runAlone}; printf "x  %057d" 0` }],
        50,
      ).replaceAll(/[0-9a-f]{24}/g, 'n0n0'),
      after: {
        stdout: `${framed.slice(0, framed.indexOf('it\n'))}x  ${'0'.repeat(47)}
n0n0 end 0 12.34 12.34 20
`,
        files: { '/run/limit': `644 ${shared}${ofOwn(20)}`, ...made },
      },
    },
    {
      name: 'without a tmpfs, the default folder is used',
      script: frames,
      given: (host) =>
        host.program(
          'mktemp',
          '[ "$#" -eq 1 ] || { echo "mktemp: no" >&2; exit 1; }; mkdir /tmp/t && echo /tmp/t',
          { silent: true },
        ),
      after: { stdout: framed, files: { '/run/limit': `644 ${shared}${ofOwn(20)}` } },
    },
    {
      name: 'without any temporary folder',
      script: frames,
      given: (host) => host.program('mktemp', 'echo "mktemp: no" >&2; exit 1', { silent: true }),
      after: { code: 1, stderr: 'mktemp: no\n' },
    },
  ],
};
