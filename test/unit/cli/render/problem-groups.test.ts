import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';

import type { Problem } from '../../../../src/shared/base/errors.ts';
import { problemsLines } from '../../../../src/cli/render/problem.ts';

const refused = (host: string, address: string): Problem => ({
  code: 'ssh.refused',
  host,
  step: 'connect',
  what: `nothing listens on ${address}:22`,
  expected: 'an SSH server',
  next: 'check that sshd runs there',
});
const lines = (problems: readonly Problem[]) => problemsLines(problems, 79).map(stripVTControlCharacters);

test('equal problems of many hosts are printed once, with the hosts', () => {
  const problems = Array.from({ length: 200 }, (_, index) =>
    refused(`gpu-${String(index).padStart(3, '0')}`, `192.0.2.${index}`),
  );
  expect(lines([...problems, refused('odd', '192.0.2.250')])).toEqual([
    '✗ gpu-[000-199], odd · connect: nothing listens on {address}:22 [ssh.refused]',
    '  expected  an SSH server',
    '  next      check that sshd runs there',
  ]);
});

test('hosts whose names do not fold are counted before and named below', () => {
  const problems = Array.from({ length: 30 }, (_, index) => refused(`n${index ** 2}`, '192.0.2.1'));
  const shown = lines(problems);
  expect(shown[0]).toBe('✗ 30 hosts · connect: nothing listens on 192.0.2.1:22 [ssh.refused]');
  expect(shown[1]).toMatch(/^ {2}hosts {5}n\[0-1,4,9,/);
  expect(Math.max(...shown.map((line) => line.length))).toBeLessThanOrEqual(79);
});

test('equal problems without a host are printed once', () => {
  const problem: Problem = { code: 'azure.auth', step: 'pool', what: 'the token is not valid' };
  expect(lines([problem, refused('a', '192.0.2.1'), problem])).toEqual([
    '✗ pool: the token is not valid [azure.auth]',
    '✗ a · connect: nothing listens on 192.0.2.1:22 [ssh.refused]',
    '  expected  an SSH server',
    '  next      check that sshd runs there',
  ]);
});
