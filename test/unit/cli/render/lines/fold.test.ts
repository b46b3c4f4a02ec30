import { stripVTControlCharacters } from 'node:util';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { fold } from '../../../../../src/cli/render/lines.ts';

test.each([
  ['short\n', 'short\n'],
  ['a line of several words\n', 'a line of\n  several\n  words\n'],
  ['  - indented by two\n', '  - indented\n    by two\n'],
  ['│ exactly what is in a file\n', '│ exactly what is in a file\n'],
  ['see https://lab.example/page now', 'see\n  https://lab.example/page\n  now'],
  ['\u001b[1mbold\u001b[22m and more of it', '\u001b[1mbold\u001b[22m and\n  more of it'],
])('%j', (text, folded) => {
  expect(fold(text, 12)).toBe(folded);
});

const word = fc.string({ unit: fc.constantFrom('a', 'b', '/'), minLength: 1, maxLength: 150 });
const painted = fc
  .tuple(word, fc.boolean())
  .map(([text, bold]) => (bold ? `\u001b[1m${text}\u001b[22m` : text));

test('no word is broken unless it is longer than the line, and none is lost', () => {
  fc.assert(
    fc.property(fc.array(painted), fc.nat(30), fc.integer({ min: 40, max: 140 }), (words, indent, width) => {
      const folded = fold(' '.repeat(indent) + words.join(' '), width);
      expect(folded.split(/\s+/).filter(Boolean)).toEqual(words);
      for (const line of folded.split('\n').map(stripVTControlCharacters))
        if (line.length > width) expect(line.trim().split(' '), line).toHaveLength(1);
    }),
  );
});
