import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import stringWidth from 'string-width';
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

test('every character takes the columns that string-width counts, between others and with a color', () => {
  for (let code = 0; code < 0x30_00; code += 1) {
    const text = `a${String.fromCodePoint(code)}b`;
    const name = `U+${code.toString(16)}`;
    expect(widthOf(text), name).toBe(stringWidth(text));
    expect(widthOf(`\u001b[31m${text}\u001b[39m`), name).toBe(stringWidth(text));
  }
});

describe('text of wide words', () => {
  const word = fc
    .array(fc.constantFrom('東', 'é', 'e\u0301', 'x', '🙂'), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join(''));
  const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
  const width = fc.integer({ min: 16, max: 50 });
  const same = (lines: string, words: string): void =>
    expect(lines.split(/\s+/).filter(Boolean).join(' ')).toBe(words);

  test('is wrapped to the columns of the terminal, and no word is lost', () => {
    fc.assert(
      fc.property(text, width, (input, columns) => {
        const lines = wrap(input, columns, 0, 4);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        same(lines.join('\n'), input);
      }),
    );
  });

  test('is folded to the columns of the terminal with its colours, and no word is lost', () => {
    fc.assert(
      fc.property(text, width, (input, columns) => {
        const folded = fold(`\u001b[1m${input}\u001b[22m`, columns);
        for (const line of folded.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        same(stripVTControlCharacters(folded), input);
      }),
    );
  });
});
