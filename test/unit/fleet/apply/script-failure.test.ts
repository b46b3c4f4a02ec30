import { expect, test } from 'vitest';

import { scriptFailure } from '../../../../src/fleet/apply/execute.ts';

test('a script that prints a problem is reported with it', () => {
  const output =
    'noise\nfailed: it cannot be done\nexpected: this\nseen: SyntaxError\n  at line 1\nnext: see the log\n';
  expect(
    scriptFailure('restart', 1, `failed: of earlier\nexpected: x\nseen: y\nnext: z\n${output}`).problem,
  ).toMatchObject({
    code: 'change.failed',
    what: 'it cannot be done',
    expected: 'this',
    seen: 'SyntaxError\n  at line 1',
    next: 'see the log',
  });
});

test('any other script is reported with its last lines', () => {
  const output = Array.from({ length: 9 }, (_, at) => `line ${at}\n\n`).join('');
  expect(scriptFailure('install it', 100, output).problem).toMatchObject({
    what: '"install it" failed with exit code 100',
    seen: 'line 3\nline 4\nline 5\nline 6\nline 7\nline 8',
  });
  expect(scriptFailure('install it', 2, '').problem.seen).toBe('no output');
});
