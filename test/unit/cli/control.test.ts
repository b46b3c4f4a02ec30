// Control characters in arguments: refused before the inventory is read, and printed escaped.
import { expect, test } from 'vitest';

import { runCommand } from '../../support/command.ts';

const place = { cwd: '/nowhere', terminal: true };

test.each([
  ['an escape', 'echo \u001b[2J', 'U+001B at character 6'],
  ['the control character that encodes line breaks', 'echo \u0001', 'U+0001 at character 6'],
  ['a carriage return', 'a\rb', 'U+000D at character 2'],
  ['one of the second row', 'a\u009bb', 'U+009B at character 2'],
])('exec with %s is refused at once', async (_, command, seen) => {
  const { exitCode, stdout, stderr } = await runCommand(['exec', '--', command], place);
  expect(exitCode).toBe(2);
  expect(stdout).toBe('');
  expect(stderr).toContain('the command has a control character');
  expect(stderr).toContain(seen);
  expect(stderr).not.toContain(command);
});

test('also among several words; line breaks and tabs are accepted', async () => {
  const refused = await runCommand(['exec', '--json', '--', 'printf', '%s', '\u0007'], place);
  expect(JSON.parse(refused.stdout)).toMatchObject({ problems: [{ code: 'usage.control' }] });
  const passed = await runCommand(['exec', '--json', '--', 'a\n\tb'], place);
  expect(passed.stdout).not.toContain('usage.control');
});

test.each([
  [['init', 'a', '--pool', 'a\u001b[2Jb'], 'A name without control characters'],
  [['pool', 'create', 'good', 'a\nb'], 'the name of a pool has a control character'],
  [['pool', 'authorize', 'a\u0000b'], 'the name of a pool has a control character'],
])('%j is refused', async (argv, what) => {
  const { exitCode, stderr } = await runCommand(argv, place);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(what);
  expect(stderr).not.toContain('\u001b[2J');
});
