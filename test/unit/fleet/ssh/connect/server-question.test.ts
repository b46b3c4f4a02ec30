import fc from 'fast-check';
import { expect, test } from 'vitest';

import { serverQuestion } from '../../../../../src/fleet/ssh/connect/server-question.ts';

const options = { name: 'gpu-1', user: 'ann', hostname: '192.0.2.7', port: 2222 };

test.each([
  ['', 'Password: ', 'Password:'],
  ['Two factors\n', 'Code:', 'Two factors\nCode:'],
  ['', '\u001b[2K\rSudo password for prod-bastion:', 'Sudo password for prod-bastion:'],
  ['', `${' '.repeat(200)}root@prod: password`, 'root@prod: password'],
  ['', `${'\u2800'.repeat(200)}root@prod: password`, 'root@prod: password'],
  ['', 'a\n\nroot@prod: password', 'a root@prod: password'],
  ['', '', ''],
])('%j, %j', (instructions, prompt, said) => {
  expect(serverQuestion(options, instructions, { prompt })).toEqual({
    host: 'gpu-1',
    text: 'ann@192.0.2.7:2222 asks, in its own words:',
    said,
    hidden: true,
  });
});

test('the answer is shown where the host says so, and nowhere else', () => {
  expect(serverQuestion(options, '', { prompt: 'Name:', echo: true }).hidden).toBe(false);
  expect(serverQuestion(options, '', { prompt: 'Name:', echo: false }).hidden).toBe(true);
});

test('our own words stand alone, and there is no end of neither lines nor words', () => {
  const text = fc.string({ unit: 'binary', maxLength: 50 }).map((said) => `${said}\n`.repeat(90));
  fc.assert(
    fc.property(text, text, (instructions, prompt) => {
      const question = serverQuestion(options, instructions, { prompt });
      expect(question.text).toBe('ann@192.0.2.7:2222 asks, in its own words:');
      expect(question.said?.split('\n').length).toBeLessThanOrEqual(22);
      expect(question.said?.length).toBeLessThanOrEqual(2400);
    }),
  );
});
