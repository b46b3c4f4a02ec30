import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { clip, columnsOf, pieces } from '../../../../src/shared/base/columns.ts';

test.each([
  ['', 0],
  ['plain words', 11],
  ['Größe · … ⠋ │', 13],
  ['日本語', 6],
  ['한국어', 6],
  ['ｗｉｄｅ', 8],
  ['😀✅', 4],
  ['❤️', 2],
])('%j takes at most %i columns', (text, columns) => {
  expect(columnsOf(text)).toBe(columns);
});

describe('a line', () => {
  test('in pieces is the same text, and no piece is too long', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 40 }), (text, columns) => {
        const found = pieces(text, columns);
        expect(found.join('')).toBe(text);
        expect(Math.max(...found.map(columnsOf))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  test('that fits is unchanged; a longer one is cut with …', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, columns) => {
        const cut = clip(text, columns);
        expect(columnsOf(cut)).toBeLessThanOrEqual(columns);
        if (columnsOf(text) <= columns) expect(cut).toBe(text);
        else expect(cut).toMatch(/…$/);
      }),
    );
  });
});
