import { startChangeScript } from '../../../../../src/fleet/ssh/session/durable-change.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import {
  bare,
  change,
  cleared,
  ended,
  folder,
  launched,
  leftover,
  locked,
  query,
  mark,
  output,
  unanswered,
  prepared,
  swept,
  systemd,
  wide,
} from './change-stage.ts';

const start = startChangeScript(change);

export const startChangeSuite: ScriptSuite = {
  name: 'the start of a change that outlives its connection',
  flags: [],
  given: (host) => {
    systemd(host);
    host.file('/proc/sys/kernel/random/boot_id', 'boot-1\n').program('sync', '');
    host.program(
      'systemd-run',
      `{ true >&9; } 2>/dev/null && echo 'the descriptor is inherited'
echo "Running as unit"; for last; do :; done; INVOCATION_ID=inv1 /bin/sh "$last" || :`,
    );
  },
  cases: [
    {
      name: 'is started as a unit and followed to its end',
      script: start,
      after: {
        stdout: output,
        stderr: 'Running as unit\nstarted inv1\nend 1\n',
        calls: [...launched, ...cleared],
        files: ended,
      },
    },
    {
      name: 'of the same start that has ended is reported, not started again',
      script: start,
      given: (host) => leftover(host, { run: 'r-1 boot-1\n', output: '0123', code: '7' }),
      after: {
        stdout: '0123',
        stderr: 'started \nend 7\n',
        calls: [query, ...cleared],
        files: locked,
      },
    },
    {
      name: 'of the same start that runs is followed, even before it reported its start',
      script: start,
      given: (host) => {
        leftover(host, { run: 'r-1 boot-1\n', output: '' });
        systemd(host, 'running', 'running');
        host.program('sleep', `echo inv1 >${folder}/began; echo 0 >${folder}/code`);
      },
      after: {
        stderr: 'started inv1\nend 0\n',
        calls: [query, query, 'sleep 0.3', ...cleared],
        files: { ...locked, [`${folder}/began`]: '600 inv1\n', [`${folder}/code`]: '600 0\n' },
      },
    },
    {
      name: 'of the same start that systemd ended without a result has failed',
      script: start,
      given: (host) => {
        leftover(host, { run: 'r-1 boot-1\n', output: '' });
        systemd(host, 'failed', 'failed', 'failed');
      },
      after: {
        stderr: 'started inv1\ndead Result=oom-kill\n',
        calls: [query, query, ...cleared],
        files: locked,
      },
    },
    {
      name: 'of the same start whose unit is gone is not started again',
      script: start,
      given: (host) => leftover(host, { run: 'r-1 boot-1\n', output: 'half', began: 'inv1\n' }),
      after: {
        stdout: 'half',
        stderr: 'started inv1\ndead gone\n',
        calls: [query, query, ...cleared],
        files: locked,
      },
    },
    {
      name: 'that has a mark and no unit, in the same boot, is started now',
      script: start,
      given: (host) => leftover(host, { run: 'r-1 boot-1\n' }),
      after: {
        stdout: output,
        stderr: 'Running as unit\nstarted inv1\nend 1\n',
        calls: [...launched, ...cleared],
        files: bare(ended),
      },
    },
    {
      name: 'that has a mark of another boot is not started again: it may have run',
      script: start,
      given: (host) => leftover(host, { run: 'r-1 boot-0\n' }),
      after: { stderr: 'started \ndead gone\n', calls: [query, query, ...cleared], files: locked },
    },
    {
      name: 'that has a mark, while systemd does not answer, is neither ended nor started',
      script: start,
      given: (host) => {
        leftover(host, { run: 'r-1 boot-1\n' });
        host.program('systemctl', 'exit 1');
      },
      after: {
        code: 1,
        stderr: 'unknown \n',
        calls: unanswered,
        files: locked,
      },
    },
    {
      name: 'is not started while systemd does not answer',
      script: start,
      given: (host) => {
        leftover(host, { run: 'r-0 boot-1\n', code: '0' });
        host.program('systemctl', 'echo "Failed to connect to bus" >&2; exit 1');
      },
      after: {
        code: 1,
        stderr: 'unknown \n',
        calls: unanswered,
        files: locked,
      },
    },
    {
      name: 'is not started while an earlier start holds its lock',
      script: start,
      given: async (host) => {
        host.folder(folder).program('flock', '[ "$*" != "-w 60 9" ]');
      },
      after: {
        code: 1,
        stderr: 'unknown an earlier start of it still runs\n',
        calls: ['flock -w 60 9'],
        files: locked,
      },
    },
    {
      name: 'that already runs is joined, from its beginning',
      script: start,
      given: (host) => {
        leftover(host, { run: 'r-0 boot-1', output: '01234' });
        systemd(host, 'running');
      },
      after: {
        stdout: '01234',
        stderr: 'following inv1 \ndead gone\n',
        calls: [query, query, query],
        files: locked,
      },
    },
    {
      name: 'that already runs is joined, with the name of its owner',
      script: start,
      given: (host) => {
        leftover(host, { run: 'r-0 boot-1', owner: 'bob  b' });
        systemd(host, 'running', 'failed', 'failed');
      },
      after: {
        stderr: 'following inv1 bob  b\ndead Result=oom-kill\n',
        calls: [query, query, ...cleared],
        files: locked,
      },
    },
    {
      name: 'that ended in an earlier run starts again without its old files; expired changes are removed',
      script: start,
      given: (host) => {
        const old = ['run', 'output', 'title', 'owner', 'since', 'script', 'runner', 'began'];
        leftover(host, {
          ...Object.fromEntries(old.map((name) => [name, 'from an earlier start, and longer\n'])),
          code: '0',
        });
        systemd(host, 'exited', 'dead', 'running', 'running');
        host.program('systemd-run', '').program('sleep', `INVOCATION_ID=inv1 /bin/sh ${folder}/runner || :`);
        host.file('/var/lib/azp-fleet/changes/y-1/code', '0').folder('/var/lib/azp-fleet/changes/y 2');
        host.age('/var/lib/azp-fleet/changes/y-1/code', 40 * 86400);
        host.age('/var/lib/azp-fleet/changes/y-1', 29.5 * 86400);
        host.age('/var/lib/azp-fleet/changes/y 2', 31.5 * 86400);
        host.file(`${folder}/lock`, 'from an earlier run').age(folder, 40 * 86400);
      },
      after: {
        stdout: output,
        stderr: 'started inv1\nend 1\n',
        calls: [...launched, query, 'sleep 0.3', ...cleared],
        files: {
          ...wide(ended),
          [`${folder}/began`]: '600 inv1\n',
          [`${folder}/code`]: '600 1\n',
          [`${folder}/run`]: '600 r-1 boot-1\n',
          '/var/lib/azp-fleet/changes/y 2': 'gone',
        },
      },
    },
    {
      name: 'cannot be started without systemd',
      script: start,
      given: (host) => host.without('systemd-run'),
      after: { code: 1, stderr: 'nosystemd\n' },
    },
    {
      name: 'that systemd refuses is reported as not started, also in a boot without an id',
      script: start,
      given: (host) =>
        host
          .drop('/proc/sys/kernel/random/boot_id')
          .program('systemd-run', 'echo "Failed to start transient service unit" >&2; exit 1'),
      after: {
        code: 1,
        stderr: 'Failed to start transient service unit\nnotstarted \n',
        calls: launched,
        files: { ...prepared, [`${folder}/run`]: '600 r-1 \n' },
      },
    },
    {
      name: 'that began although systemd-run failed is followed to its end',
      script: start,
      given: (host) =>
        host.program('systemd-run', 'for last; do :; done; INVOCATION_ID=inv1 /bin/sh "$last"'),
      after: {
        stdout: output,
        stderr: 'started inv1\nend 1\n',
        calls: [...launched, ...cleared],
        files: ended,
      },
    },
    {
      name: 'that was started while systemd-run lost its connection is followed',
      script: start,
      given: (host) => {
        systemd(host, 'dead', 'dead', '-', 'running', 'running', 'exited');
        host.program('systemd-run', 'echo "Connection reset by peer" >&2; exit 1');
        host.program('sleep', `[ "$(wc -l </run/.asked)" -lt 5 ] || echo 0 >${folder}/code`);
      },
      after: {
        stderr: 'Connection reset by peer\nstarted inv1\nend 0\n',
        calls: [...launched, 'sleep 0.3', query, query, 'sleep 0.3', ...cleared],
        files: { ...prepared, ...mark, [`${folder}/code`]: '600 0\n' },
      },
    },
    {
      name: 'is unknown if systemd-run fails and systemd does not answer',
      script: start,
      given: (host) => {
        systemd(host, 'dead', 'dead', ...Array.from({ length: 201 }, () => '-'));
        host.program('systemd-run', 'exit 1');
      },
      after: {
        code: 1,
        stderr: 'unknown \n',
        calls: [...launched.slice(0, -1), ...unanswered],
        files: { ...prepared, ...mark },
      },
    },
    {
      name: 'is not started if a unit of an earlier run cannot be removed',
      script: start,
      given: (host) => systemd(host, 'failed', 'failed'),
      after: {
        code: 1,
        stderr: 'notstarted its unit of an earlier run stays (failed)\n',
        calls: [query, ...swept, query],
        files: prepared,
      },
    },
    {
      name: 'is not started if its script cannot be written',
      script: start,
      given: (host) => host.folder(`${folder}/script`),
      after: {
        code: 1,
        stderr: `script: cannot create ${folder}/script: Is a directory\nnotstarted \n`,
        calls: [query],
        files: { [`${folder}/output`]: '600 ', [`${folder}/lock`]: '600 ' },
      },
    },
    {
      name: 'is not started if the mark of an earlier start stays',
      script: start,
      given: (host) => host.folder(`${folder}/run/x`),
      after: {
        code: 1,
        stderr: `rm: cannot remove '${folder}/run': Is a directory\nnotstarted \n`,
        calls: [query],
        files: { [`${folder}/lock`]: '600 ' },
      },
    },
    {
      name: 'is not started if its mark cannot be written',
      script: start,
      given: (host) =>
        host.program('systemctl', `case $1 in show) echo SubState=dead ;; stop) mkdir ${folder}/run ;; esac`),
      after: {
        code: 1,
        stderr: `script: cannot create ${folder}/run: Is a directory\nnotstarted \n`,
        calls: [query, ...swept, query],
        files: { ...prepared, [`${folder}/run`]: '700 /' },
      },
    },
    {
      name: 'needs its folder',
      script: start,
      given: (host) => host.file('/var/lib/azp-fleet'),
      after: {
        code: 1,
        stderr: "mkdir: cannot create directory '/var/lib/azp-fleet': Not a directory\nnotstarted \n",
      },
    },
  ],
};
