import { followChangeScript } from '../../../../../src/fleet/ssh/session/durable-change.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { cleared, folder, left, look, patience, systemd } from './change-stage.ts';

const follow = followChangeScript('x,1', undefined);
const again = followChangeScript('x,1', { offset: 2, invocation: 'inv-1' });
const fromStart = followChangeScript('x,1', { offset: 0, invocation: '' });

const lock = { [`${folder}/lock`]: '644 ' };
const finished = (stdout: string, stderr: string) => ({ stdout, stderr, calls: cleared, files: lock });

export const followChangeSuite: ScriptSuite = {
  name: 'following a change that outlives its connection',
  flags: [],
  given: (host) => systemd(host),
  cases: [
    {
      name: 'that is not there is not followed',
      script: follow,
      after: { stderr: 'none\n', calls: [look] },
    },
    {
      name: 'of which systemd says nothing is not taken for one that is not there',
      script: follow,
      given: (host) => {
        host.program('systemctl', 'exit 1');
      },
      after: {
        stderr: 'unknown\n',
        calls: patience,
      },
    },
    {
      name: 'is followed while it runs, with what it wrote since',
      script: follow,
      given: (host) => {
        left(host, { owner: 'bob', output: '0123456789' });
        systemd(host, 'start-post', 'start-post', 'start-post');
        host.program(
          'sleep',
          `printf ab >>${folder}/output; [ "$(wc -l </run/.asked)" -lt 3 ] || { echo inv-1 >${folder}/began; echo 4 >${folder}/code; }`,
        );
      },
      after: {
        stdout: '0123456789abab',
        stderr: 'following inv-1 bob\nend 4\n',
        calls: [look, look, 'sleep 0.3', look, 'sleep 0.3', ...cleared],
        files: {
          ...lock,
          [`${folder}/began`]: '644 inv-1\n',
          [`${folder}/code`]: '644 4\n',
          [`${folder}/output`]: '644 0123456789abab',
        },
      },
    },
    {
      name: 'that we followed before a cut is followed to its end, though it has ended',
      script: again,
      given: (host) => left(host, { output: '0123', began: 'inv-1\n', code: '0' }),
      after: { ...finished('23', 'end 0\n'), calls: [look, ...cleared] },
    },
    {
      name: 'in whose place is a later start is not mistaken for it, and that one is left alone',
      script: again,
      given: (host) => left(host, { output: '0123', began: 'inv-2\n', code: '0' }),
      after: { stderr: 'dead replaced\n', calls: [look] },
    },
    {
      name: 'whose place a later start takes at its very end: that one is not stopped',
      script: again,
      given: (host) => {
        left(host, { output: '0123', began: 'inv-1\n', code: '0' });
        host.program('flock', `echo inv-2 >${folder}/began`);
      },
      after: {
        stdout: '23',
        stderr: 'end 0\n',
        calls: [look, 'flock -w 10 9', look],
        files: { ...lock, [`${folder}/began`]: '644 inv-2\n' },
      },
    },
    {
      name: 'that is being stopped is alive still',
      script: follow,
      given: (host) => {
        left(host, { output: '0123' });
        systemd(host, 'final-sigterm', 'stop-sigterm', 'failed', 'failed');
      },
      after: {
        stdout: '0123',
        stderr: 'following inv-1 \ndead Result=oom-kill\n',
        calls: [look, look, 'sleep 0.3', look, ...cleared],
        files: lock,
      },
    },
    {
      name: 'is neither dead nor stopped while systemd does not answer, as when it is executed anew',
      script: again,
      given: (host) => {
        left(host, { output: '0123', began: 'inv-1\n' });
        systemd(host, '-', '-', '-', 'running');
        host.program('sleep', `[ "$(wc -l </run/.asked)" -lt 4 ] || echo 0 >${folder}/code`);
      },
      after: {
        stdout: '23',
        stderr: 'end 0\n',
        calls: [look, look, 'sleep 0.3', look, 'sleep 0.3', look, 'sleep 0.3', ...cleared],
        files: { ...lock, [`${folder}/code`]: '644 0\n' },
      },
    },
    {
      name: 'of which systemd says nothing for a minute is in doubt, and is left alone',
      script: again,
      given: (host) => {
        left(host, { output: '0123', began: 'inv-1\n' });
        host.program('systemctl', 'exit 1');
      },
      after: {
        stdout: '23',
        stderr: 'unknown\n',
        calls: [look, ...patience],
      },
    },
    {
      name: 'whose unit is gone without a code is dead, and says why',
      script: again,
      given: (host) => {
        left(host, { output: '0123' });
        systemd(host, 'failed', 'failed', 'failed');
      },
      after: {
        ...finished('23', 'dead Result=oom-kill\n'),
        calls: [look, look, ...cleared],
      },
    },
    {
      name: 'whose unit was cleared away without a code is gone',
      script: again,
      given: (host) => left(host, { output: '0123', began: 'inv-1\n' }),
      after: { ...finished('23', 'dead gone\n'), calls: [look, look, ...cleared] },
    },
    {
      name: 'that ends between two looks is not taken for dead',
      script: fromStart,
      given: (host) => {
        left(host, { output: '0123' });
        host.program(
          'systemctl',
          `case "$*" in *SubState*) echo 0 >${folder}/code; echo SubState=dead ;; esac`,
        );
      },
      after: {
        stdout: '0123',
        stderr: 'end 0\n',
        calls: [look, ...cleared],
        files: { ...lock, [`${folder}/code`]: '644 0\n' },
      },
    },
    {
      name: 'without any output is followed all the same',
      script: fromStart,
      given: (host) => left(host, { code: '0' }),
      after: { ...finished('', 'end 0\n'), calls: [look, ...cleared] },
    },
  ],
};
