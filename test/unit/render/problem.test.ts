import { describe, expect, test } from 'vitest';

import type { Problem } from '../../../src/base/errors.ts';
import { problemLines, wrap } from '../../../src/render/problem.ts';

const plain = (problem: Problem, width = 80) =>
  problemLines(problem, width).map((line) => line.replaceAll(/\u001b\[\d+m/g, ''));

describe('a problem on the screen', () => {
  test('names host and step, then what was expected and seen, then what to do', () => {
    const problem: Problem = {
      code: 'ssh.host-key-mismatch',
      host: 'h200-1',
      step: 'connect',
      what: 'the host key is not the one on record',
      expected: 'SHA256:aaa',
      seen: 'SHA256:bbb',
      next: 'if the machine was reinstalled: ssh-keygen -R h200-1',
    };
    expect(plain(problem)).toEqual([
      '✗ h200-1 · connect: the host key is not the one on record',
      '  expected  SHA256:aaa',
      '  seen      SHA256:bbb',
      '  next      if the machine was reinstalled: ssh-keygen -R h200-1',
    ]);
  });

  test('lists every mistake of an inventory below its head', () => {
    const problem: Problem = {
      code: 'inventory.invalid',
      what: 'inventory.yaml has 2 mistakes',
      details: [
        {
          code: 'inventory.unknown-key',
          what: 'inventory.yaml:3:1 unknown key "hots"',
          next: 'did you mean hosts?',
        },
        { code: 'inventory.value', what: 'inventory.yaml:9:5 not a number' },
      ],
    };
    expect(plain(problem)).toEqual([
      '✗ inventory.yaml has 2 mistakes',
      '  ✗ inventory.yaml:3:1 unknown key "hots"',
      '    next      did you mean hosts?',
      '  ✗ inventory.yaml:9:5 not a number',
    ]);
  });

  test.each([
    ['one two three', 8, 0, 2, ['one two', '  three']],
    ['a-very-long-command-that-must-stay-whole', 10, 0, 2, ['a-very-long-command-that-must-stay-whole']],
    ['first\nsecond', 20, 4, 4, ['first', '    second']],
  ])('%j at %d columns', (text, width, first, indent, lines) => {
    expect(wrap(text, width, first, indent)).toEqual(lines);
  });
});
