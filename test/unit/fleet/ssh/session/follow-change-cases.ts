import { followChangeScript } from '../../../../../src/fleet/ssh/session/durable-change.ts';
import type { ScriptSuite } from '../../../../support/scratch/case.ts';
import { cleared, folder, leftover, query, unanswered, systemd } from './change-stage.ts';

const follow = followChangeScript('x,1', undefined);
const again = followChangeScript('x,1', { offset: 2, invocation: 'inv1' });
const fromStart = followChangeScript('x,1', { offset: 0, invocation: '' });

const hangs = `timeout -k 1 10 ${query}`;
const lock = { [`${folder}/lock`]: '644 ' };
const finished = (stdout: string, stderr: string) => ({ stdout, stderr, calls: cleared, files: lock });

export const followChangeSuite: ScriptSuite = {
  name: 'following a change that outlives its connection',
  flags: [],
  given: (host) => systemd(host),
  cases: [
    {
      name: 'that does not exist is not followed',
      script: follow,
      after: { stderr: 'none\n', calls: [query] },
    },
    {
      name: 'is unknown, not missing, while systemd does not answer',
      script: follow,
      given: (host) => {
        host.program('systemctl', 'exit 1');
      },
      after: {
        stderr: 'unknown\n',
        calls: unanswered,
      },
    },
    {
      name: 'is unknown after a minute in which systemd hangs',
      script: follow,
      given: (host) => {
        host.program('timeout', 'exit 124');
      },
      after: {
        stderr: 'unknown\n',
        calls: [hangs, ...Array.from({ length: 5 }, () => ['sleep 0.3', hangs]).flat()],
      },
    },
    {
      name: 'is followed while it runs, with new output',
      script: follow,
      given: (host) => {
        leftover(host, { owner: 'bob', output: '0123456789' });
        systemd(host, 'start-post', 'start-post', 'start-post');
        host.program(
          'sleep',
          `printf ab >>${folder}/output; [ "$(wc -l </run/.asked)" -lt 3 ] || { echo inv1 >${folder}/began; echo 4 >${folder}/code; }`,
        );
      },
      after: {
        stdout: '0123456789abab',
        stderr: 'following inv1 bob\nend 4\n',
        calls: [query, query, 'sleep 0.3', query, 'sleep 0.3', ...cleared],
        files: {
          ...lock,
          [`${folder}/began`]: '644 inv1\n',
          [`${folder}/code`]: '644 4\n',
          [`${folder}/output`]: '644 0123456789abab',
        },
      },
    },
    {
      name: 'that was followed before a cut is followed to its end, even if it has ended',
      script: again,
      given: (host) => leftover(host, { output: '0123', began: 'inv1\n', code: '0', lock: 'from its start' }),
      after: { ...finished('23', 'end 0\n'), calls: [query, ...cleared], files: {} },
    },
    {
      name: 'that was replaced by a later start is reported so, and the later start continues',
      script: again,
      given: (host) => leftover(host, { output: '0123', began: 'inv-2\n', code: '0' }),
      after: { stderr: 'dead replaced\n', calls: [query] },
    },
    {
      name: 'of which nothing is left was replaced, too',
      script: again,
      after: { stderr: 'dead replaced\n', calls: [query] },
    },
    {
      name: 'that is replaced by a later start as it ends does not stop the later start',
      script: again,
      given: (host) => {
        leftover(host, { output: '0123', began: 'inv1\n', code: '0' });
        host.program('flock', `echo inv-2 >${folder}/began`);
      },
      after: {
        stdout: '23',
        stderr: 'end 0\n',
        calls: [query, 'flock -w 10 9', query],
        files: { ...lock, [`${folder}/began`]: '644 inv-2\n' },
      },
    },
    {
      name: 'that is being stopped still runs',
      script: follow,
      given: (host) => {
        leftover(host, { output: '0123' });
        systemd(host, 'final-sigterm', 'stop-sigterm', 'failed', 'failed');
      },
      after: {
        stdout: '0123',
        stderr: 'following inv1 \ndead Result=oom-kill\n',
        calls: [query, query, 'sleep 0.3', query, ...cleared],
        files: lock,
      },
    },
    {
      name: 'is neither failed nor stopped while systemd does not answer, as in daemon-reexec',
      script: again,
      given: (host) => {
        leftover(host, { output: '0123', began: 'inv1\n' });
        systemd(host, '-', '-', '-', 'running');
        host.program('sleep', `[ "$(wc -l </run/.asked)" -lt 4 ] || echo 0 >${folder}/code`);
      },
      after: {
        stdout: '23',
        stderr: 'end 0\n',
        calls: [query, query, 'sleep 0.3', query, 'sleep 0.3', query, 'sleep 0.3', ...cleared],
        files: { ...lock, [`${folder}/code`]: '644 0\n' },
      },
    },
    {
      name: 'is unknown and unchanged if systemd does not answer for a minute',
      script: again,
      given: (host) => {
        leftover(host, { output: '0123', began: 'inv1\n' });
        host.program('systemctl', 'exit 1');
      },
      after: {
        stdout: '23',
        stderr: 'unknown\n',
        calls: [query, ...unanswered],
      },
    },
    {
      name: 'whose unit failed without a code is failed, with its result',
      script: again,
      given: (host) => {
        leftover(host, { output: '0123' });
        systemd(host, 'failed', 'failed', 'failed');
      },
      after: {
        ...finished('23', 'dead Result=oom-kill\n'),
        calls: [query, query, ...cleared],
      },
    },
    {
      name: 'whose unit was removed without a code is gone',
      script: again,
      given: (host) => leftover(host, { output: '0123', began: 'inv1\n' }),
      after: { ...finished('23', 'dead gone\n'), calls: [query, query, ...cleared] },
    },
    {
      name: 'that ends between two checks is not reported as failed',
      script: fromStart,
      given: (host) => {
        leftover(host, { output: '0123' });
        host.program(
          'systemctl',
          `case "$*" in *SubState*) echo 0 >${folder}/code; echo SubState=dead ;; esac`,
        );
      },
      after: {
        stdout: '0123',
        stderr: 'end 0\n',
        calls: [query, ...cleared],
        files: { ...lock, [`${folder}/code`]: '644 0\n' },
      },
    },
    {
      name: 'without any output is followed, too',
      script: fromStart,
      given: (host) => leftover(host, { began: 'inv1\n', code: '0' }),
      after: { ...finished('', 'end 0\n'), calls: [query, ...cleared] },
    },
  ],
};
