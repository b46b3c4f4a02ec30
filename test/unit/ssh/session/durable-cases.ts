import { followChangeScript } from '../../../../src/ssh/session/follow-change.ts';
import { startChangeScript, type StartChange } from '../../../../src/ssh/session/start-change.ts';
import type { ScriptSuite } from '../../../support/scratch/case.ts';
import type { ScratchHost } from '../../../support/scratch/host.ts';

const change: StartChange = {
  id: 'x,1',
  title: `it's "100 %"`,
  owner: "ann@o'hara",
  script: 'echo "it\'s done"; echo oops >&2; false; echo not this',
  limitS: 8.2,
  run: 'r-1',
  since: '2026-11-21T00:00:00Z',
};
const folder = '/var/lib/azp-fleet/changes/x,1';
const unit = 'azp-fleet-change-x,1.service';
const start = startChangeScript(change, 3);
const follow = followChangeScript('x,1', 2, false);
const again = followChangeScript('x,1', 2, true);
const fromStart = followChangeScript('x,1', 0, true);

const state = `systemctl show -p SubState ${unit}`;
const result = `systemctl show -p Result ${unit}`;
const cleared = [`systemctl stop ${unit}`, `systemctl reset-failed ${unit}`];

/** systemd, which is asked again and again how the unit is, and finds it dead in the end. */
function systemd(host: ScratchHost, ...states: readonly string[]): void {
  host.program(
    'systemctl',
    `echo "a word" >&2
case "$*" in
  *SubState*)
    echo x >>/run/.asked
    state=$(echo ${states.join(' ')} - | cut -d' ' -f"$(wc -l </run/.asked)" | sed 's/^-$//')
    echo "SubState=\${state:-dead}" ;;
  *Result*) echo Result=oom-kill ;;
  stop*) exit 5 ;;
esac`,
  );
}

function left(host: ScratchHost, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) host.file(`${folder}/${name}`, text);
}

const launch = `systemd-run --quiet --unit=${unit} '--description=azp-fleet: it's "100 %"' -p RemainAfterExit=yes -p RuntimeMaxSec=9 -p TimeoutStopSec=30 /bin/sh ${folder}/runner`;
const launched = [state, ...cleared.toReversed(), launch];
const runner = `PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C LANG=C
export PATH LC_ALL LANG
/bin/sh -eu ${folder}/script >${folder}/output 2>&1 </dev/null
c=$?
echo "$c" >${folder}/code.new
mv ${folder}/code.new ${folder}/code
exit "$c"
`;
const prepared = {
  '/var/lib/azp-fleet': '700 /',
  '/var/lib/azp-fleet/changes': '700 /',
  [folder]: '700 /',
  [`${folder}/output`]: '600 ',
  [`${folder}/script`]: `600 ${change.script}`,
  [`${folder}/runner`]: `600 ${runner}`,
  [`${folder}/title`]: `600 ${change.title}\n`,
  [`${folder}/owner`]: `600 ${change.owner}\n`,
  [`${folder}/since`]: `600 ${change.since}\n`,
};
const output = "it's done\noops\n";
const ended = {
  ...prepared,
  [`${folder}/output`]: `600 ${output}`,
  [`${folder}/code`]: '600 1\n',
  [`${folder}/run`]: '600 r-1\n',
};
const finished = (stdout: string, stderr: string) => ({ stdout, stderr, calls: cleared });

export const durableSuite: ScriptSuite = {
  name: 'a change that outlives its connection',
  flags: [],
  given: (host) => {
    systemd(host);
    host.program('systemd-run', 'echo "Running as unit"; for last; do :; done; /bin/sh "$last" || :');
  },
  cases: [
    {
      name: 'is started as a unit, and followed to its end',
      script: start,
      after: {
        stdout: output,
        stderr: 'Running as unit\nstarted\nend 1\n',
        calls: [...launched, ...cleared],
        files: ended,
      },
    },
    {
      name: 'of the same start is followed from where we were',
      script: start,
      given: (host) => left(host, { run: 'r-1', output: '0123456789', code: '7' }),
      after: finished('3456789', 'end 7\n'),
    },
    {
      name: 'that runs already is joined, from its beginning',
      script: start,
      given: (host) => {
        left(host, { run: 'r-0', output: '01234' });
        systemd(host, 'running');
      },
      after: {
        stdout: '01234',
        stderr: 'following \ndead Result=oom-kill\n',
        calls: [state, state, result, ...cleared],
      },
    },
    {
      name: 'that runs already is joined, and whose it is is said',
      script: start,
      given: (host) => {
        left(host, { run: 'r-0', owner: 'bob  b' });
        systemd(host, 'running');
      },
      after: {
        stderr: 'following bob  b\ndead Result=oom-kill\n',
        calls: [state, state, result, ...cleared],
      },
    },
    {
      name: 'that ended in an earlier run begins anew, without its traces; old ones of others go',
      script: start,
      given: (host) => {
        const old = ['run', 'output', 'title', 'owner', 'since', 'script', 'runner'];
        left(host, {
          ...Object.fromEntries(old.map((name) => [name, 'of other days, and longer\n'])),
          code: '0',
        });
        systemd(host, 'dead', 'running');
        host.program('systemd-run', '').program('sleep', `/bin/sh ${folder}/runner || :`);
        host.file('/var/lib/azp-fleet/changes/y-1/code', '0').folder('/var/lib/azp-fleet/changes/y 2');
        host.age('/var/lib/azp-fleet/changes/y-1/code', 40 * 86400);
        host.age('/var/lib/azp-fleet/changes/y-1', 29.5 * 86400);
        host.age('/var/lib/azp-fleet/changes/y 2', 31.5 * 86400);
      },
      after: {
        stdout: output,
        stderr: 'started\nend 1\n',
        calls: [...launched, state, 'sleep 0.3', ...cleared],
        files: {
          [`${folder}/code`]: '600 1\n',
          [`${folder}/output`]: `644 ${output}`,
          [`${folder}/owner`]: `644 ${change.owner}\n`,
          [`${folder}/run`]: '644 r-1\n',
          [`${folder}/runner`]: `644 ${runner}`,
          [`${folder}/script`]: `644 ${change.script}`,
          [`${folder}/since`]: `644 ${change.since}\n`,
          [`${folder}/title`]: `644 ${change.title}\n`,
          '/var/lib/azp-fleet/changes/y 2': 'gone',
        },
      },
    },
    {
      name: 'cannot be started without systemd',
      script: start,
      given: (host) => host.without('systemd-run'),
      after: { code: 1, stderr: 'nosystemd\n', calls: [state] },
    },
    {
      name: 'that systemd refuses has not run, and is not taken for one that has',
      script: start,
      given: (host) =>
        host.program('systemd-run', 'echo "Failed to start transient service unit" >&2; exit 1'),
      after: {
        code: 1,
        stderr: 'Failed to start transient service unit\nnotstarted\n',
        calls: launched,
        files: prepared,
      },
    },
    {
      name: 'is not begun where its script cannot be written',
      script: start,
      given: (host) => host.folder(`${folder}/script`),
      after: {
        code: 1,
        stderr: `script: cannot create ${folder}/script: Is a directory\n`,
        calls: [state],
        files: { [`${folder}/output`]: '600 ' },
      },
    },
    {
      name: 'needs its folder',
      script: start,
      given: (host) => host.file('/var/lib/azp-fleet'),
      after: {
        code: 1,
        stderr: "mkdir: cannot create directory '/var/lib/azp-fleet': Not a directory\n",
        calls: [state],
      },
    },
    {
      name: 'that is not there is not followed',
      script: follow,
      after: { stderr: 'none\n', calls: [state] },
    },
    {
      name: 'is followed while it runs, with what it wrote since',
      script: follow,
      given: (host) => {
        left(host, { owner: 'bob', output: '0123456789' });
        systemd(host, 'start-post', 'start-post', 'start-post');
        host.program(
          'sleep',
          `printf ab >>${folder}/output; [ "$(wc -l </run/.asked)" -lt 3 ] || echo 4 >${folder}/code`,
        );
      },
      after: {
        stdout: '23456789abab',
        stderr: 'following bob\nend 4\n',
        calls: [state, state, 'sleep 0.3', state, 'sleep 0.3', ...cleared],
        files: { [`${folder}/code`]: '644 4\n', [`${folder}/output`]: '644 0123456789abab' },
      },
    },
    {
      name: 'that we followed before a cut is followed to its end, though it has ended',
      script: again,
      given: (host) => left(host, { output: '0123', code: '0' }),
      after: finished('23', 'end 0\n'),
    },
    {
      name: 'that is being stopped is alive still',
      script: follow,
      given: (host) => {
        left(host, { output: '0123' });
        systemd(host, 'stop-sigterm', 'stop-sigterm');
      },
      after: {
        stdout: '23',
        stderr: 'following \ndead Result=oom-kill\n',
        calls: [state, state, 'sleep 0.3', state, result, ...cleared],
      },
    },
    {
      name: 'whose unit is gone without a code is dead, and says why',
      script: again,
      given: (host) => left(host, { output: '0123' }),
      after: { stdout: '23', stderr: 'dead Result=oom-kill\n', calls: [state, result, ...cleared] },
    },
    {
      name: 'that ends between two looks is not taken for dead',
      script: again,
      given: (host) => {
        left(host, { output: '0123' });
        host.program('systemctl', `case "$*" in *SubState*) echo 0 >${folder}/code ;; esac`);
      },
      after: {
        stdout: '23',
        stderr: 'end 0\n',
        calls: [state, ...cleared],
        files: { [`${folder}/code`]: '644 0\n' },
      },
    },
    {
      name: 'without any output is followed all the same',
      script: fromStart,
      given: (host) => left(host, { code: '0' }),
      after: finished('', 'end 0\n'),
    },
  ],
};
