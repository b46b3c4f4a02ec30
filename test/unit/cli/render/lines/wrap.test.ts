import fc from 'fast-check';
import { expect, test } from 'vitest';

import { wrap } from '../../../../../src/cli/render/lines.ts';

test.each([
  ['a short one', 20, 0, 0, ['a short one']],
  ['one two three', 8, 0, 2, ['one two', '  three']],
  ['a-very-long-command-that-must-stay-whole', 10, 0, 2, ['a-very-long-command-that-must-stay-whole']],
  ['first\nsecond', 20, 4, 4, ['first', '    second']],
  ['two lines of words', 10, 0, 2, ['two lines', '  of words']],
  ['behind a head', 12, 7, 3, ['', '   behind a', '   head']],
  ['a-word-of-24-characters! end', 24, 10, 10, ['', 'a-word-of-24-characters!', '          end']],
  ['longer-than-the-line', 10, 4, 4, ['longer-than-the-line']],
  ['see longer-than-the-line now', 10, 2, 4, ['see', '    longer-than-the-line', '    now']],
  ['one\ntwo', 20, 2, 2, ['one', '  two']],
  ['', 20, 2, 2, ['']],
])('%j in %i columns', (text, width, first, indent, lines) => {
  expect(wrap(text, width, first, indent)).toEqual(lines);
});

const word = fc.string({ unit: fc.constantFrom('a', 'b', '-', '/'), minLength: 1, maxLength: 160 });

test('no word is broken unless it is longer than the line, and none is lost', () => {
  fc.assert(
    fc.property(
      fc.array(word, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 40, max: 140 }),
      fc.nat(39),
      fc.nat(39),
      (words, width, first, indent) => {
        const lines = wrap(words.join(' '), width, first, indent);
        expect(lines.flatMap((line) => line.split(' ').filter(Boolean))).toEqual(words);
        for (const [at, line] of lines.entries()) {
          const columns = line.length + (at === 0 ? first : 0);
          if (columns > width) expect(line.trim().length, line).toBeGreaterThan(width);
        }
      },
    ),
  );
});
