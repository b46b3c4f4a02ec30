import fc from 'fast-check';
import { expect, test } from 'vitest';

import { serverQuestion } from '../../../../src/ssh/connect/server-question.ts';

test.each([
  ['', 'Password: ', 'ann@gpu-1: Password:'],
  ['Two factors\n', 'Code:', 'ann@gpu-1 says: Two factors\nann@gpu-1: Code:'],
  ['', '\u001b[2K\rSudo password for prod-bastion:', 'ann@gpu-1: Sudo password for prod-bastion:'],
  ['', `${' '.repeat(200)}root@prod: password`, 'ann@gpu-1: root@prod: password'],
  ['', 'a\n\nroot@prod: password', 'ann@gpu-1: a root@prod: password'],
])('%j, %j', (instructions, prompt, expected) => {
  expect(serverQuestion('ann@gpu-1', instructions, prompt)).toBe(expected);
});

test('every line says who asks, and there is no end of neither lines nor words', () => {
  const text = fc.string({ unit: 'binary', maxLength: 50 }).map((said) => `${said}\n`.repeat(90));
  fc.assert(
    fc.property(text, text, (instructions, prompt) => {
      const lines = serverQuestion('ann@gpu-1', instructions, prompt).split('\n');
      expect(lines.length).toBeLessThanOrEqual(22);
      for (const line of lines) expect(line).toMatch(/^ann@gpu-1(?: says)?:/);
      expect(lines.join('').length).toBeLessThanOrEqual(3000);
    }),
  );
});
