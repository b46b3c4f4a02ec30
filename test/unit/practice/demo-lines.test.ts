import { expect, test } from 'vitest';

import { broken } from '../../../practice/demo/run-demo.ts';

test.each([
  ['short', 80],
  ['  a line of the demo that is longer than forty columns of a terminal', 40],
  [`  ${'word '.repeat(60)}end`, 80],
])('%j at %i columns breaks only between words', (text, columns) => {
  const lines = broken(text, columns).split('\n');
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(columns);
  expect(lines.join(' ').split(/ +/u).filter(Boolean)).toEqual(text.split(/ +/u).filter(Boolean));
});

test('a word longer than the terminal stays whole', () => {
  const word = 'x'.repeat(50);
  expect(broken(`a ${word} b`, 40)).toContain(word);
});
