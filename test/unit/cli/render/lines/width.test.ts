import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { fold, padded, widthOf, wrap } from '../../../../../src/cli/render/lines.ts';

test.each([
  ['gpu-1', 5],
  ['東京', 4],
  ['ﾃｽﾄ', 3],
  ['한국', 4],
  ['e\u0301', 1],
  ['é', 1],
  ['🙂', 2],
  ['👩‍🔬', 2],
  ['\u001b[31mred\u001b[39m', 3],
  ['', 0],
])('%s takes %d columns', (text, columns) => {
  expect(widthOf(text)).toBe(columns);
  expect(widthOf(padded(text, 8))).toBe(8);
  expect(padded(text, 0)).toBe(text);
});

describe('text of wide words', () => {
  const word = fc
    .array(fc.constantFrom('東', 'é', 'e\u0301', 'x', '🙂'), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join(''));
  const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
  const width = fc.integer({ min: 16, max: 50 });
  const same = (lines: string, said: string): void =>
    expect(lines.split(/\s+/).filter(Boolean).join(' ')).toBe(said);

  test('is wrapped to the columns of the terminal, and all of it is there', () => {
    fc.assert(
      fc.property(text, width, (said, columns) => {
        const lines = wrap(said, columns, 0, 4);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        same(lines.join('\n'), said);
      }),
    );
  });

  test('so it is where it is folded, colours and all', () => {
    fc.assert(
      fc.property(text, width, (said, columns) => {
        const folded = fold(`\u001b[1m${said}\u001b[22m`, columns);
        for (const line of folded.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        same(stripVTControlCharacters(folded), said);
      }),
    );
  });
});
