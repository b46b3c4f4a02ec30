import { expect, test } from 'vitest';

import { joinLines } from '../../../../src/cli/setup/terminal.ts';
import { startWizard } from '../../../support/wizard-session.ts';

test.each([
  ['a\rb\rc', 'a b c'],
  ['a\r\nb\r\n', 'a b'],
  ['a\n\nb', 'a b'],
  ['a\r', 'a\r'],
  ['\r', '\r'],
  ['\u001b[A', '\u001b[A'],
])('%j becomes %j', (given, taken) => {
  expect(joinLines(given)).toBe(taken);
});

test('a pasted list with line breaks is one answer, which waits for Enter', async () => {
  const { interview, keyboard } = startWizard();
  const asked = interview.run(async () => [
    await interview.text('hosts', 'Hosts:', { list: true }),
    await interview.text('pool', 'Pool:'),
  ]);
  await keyboard.see('Hosts:');
  keyboard.stdin.write('h1\rh2\rh3\r');
  await keyboard.see('h1 h2 h3');
  keyboard.stdin.write('\r');
  await keyboard.answer(['Pool:', 'p']);
  expect(await asked).toEqual(['h1 h2 h3', 'p']);
});
