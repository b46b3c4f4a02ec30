import { expect, test } from 'vitest';

import { execText, type HostAnswer } from '../../../../src/cli/commands/exec.ts';

const plain = (_style: unknown, text: string): string => text;

function answer(host: string, stdout: string, code = 0, stderr = ''): HostAnswer {
  return { host, result: { code, stdout, stderr, durationMs: 1 } };
}

test('equal answers are shown once: the largest group first, failures after, the unreachable last', () => {
  const answers: HostAnswer[] = [
    answer('a', 'one\n', 0),
    answer('b', 'two\n'),
    answer('c', '', 2, 'no such file\n'),
    answer('d', 'two\n'),
    { host: 'e', problem: { code: 'ssh.refused', host: 'e', what: 'nothing listens', next: 'start sshd' } },
  ];
  expect([...execText(answers, { paint: plain, width: 79, clean: (text) => text })].join('')).toBe(
    [
      '── 2 hosts: b, d',
      'two',
      '── a',
      'one',
      '── c  exit 2',
      'no such file',
      '✗ e: nothing listens [ssh.refused]',
      '  next      start sshd',
      '',
    ].join('\n'),
  );
});
