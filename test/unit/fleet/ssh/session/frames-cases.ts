import { frameScript } from '../../../../../src/fleet/ssh/session/frames.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';

const probes = [
  { name: 'well', script: "echo out; echo \"it's err\" >&2; printf 'no newline'" },
  { name: 'fails', script: 'cat; exit 7', timeoutS: 9 },
];
const frames = frameScript(probes, 1000).replaceAll(/[0-9a-f]{24}/g, 'n0n0');
const framed = `frames n0n0

n0n0 begin well
out
no newline
n0n0 end 0 12.34 12.34 5
it's err

n0n0 begin fails

n0n0 end 7 12.34 12.34 9
`;
const limits = '644 -k 1 7\n-k 1 5\n-k 1 11\n-k 1 9\n';

export const framesSuite: ScriptSuite = {
  name: 'many probes in one script',
  flags: [],
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
        files: { '/run/limit': limits, '/run/made': '644 -d /run/azp-fleet-facts.XXXXXX\n' },
      },
    },
    {
      name: 'one that timed out has code 124',
      script: frames,
      given: (host) => host.program('timeout', `sed -i 's/12/13/' /proc/uptime; exit 124`, { silent: true }),
      after: {
        stdout: `frames n0n0

n0n0 begin well

n0n0 end 124 12.34 13.34 5

n0n0 begin fails

n0n0 end 124 13.34 13.34 9
`,
        files: { '/proc/uptime': '644 13.34 99.9\n', '/run/made': '644 -d /run/azp-fleet-facts.XXXXXX\n' },
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
      after: { stdout: framed, files: { '/run/limit': limits } },
    },
    {
      name: 'without any temporary folder',
      script: frames,
      given: (host) => host.program('mktemp', 'echo "mktemp: no" >&2; exit 1', { silent: true }),
      after: { code: 1, stderr: 'mktemp: no\n' },
    },
  ],
};
