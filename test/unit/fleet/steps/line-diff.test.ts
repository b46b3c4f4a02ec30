import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { lineDiff } from '../../../../src/fleet/steps/line-diff.ts';

const text = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** Applies the hunks as patch(1) does, without fuzz. */
function patched(before: string, hunks: readonly string[]): string {
  const lines = before.split('\n').slice(0, -1);
  const out: string[] = [];
  let taken = 0;
  for (const hunk of hunks) {
    const [, from, length] = hunk.match(/^@@ -(\d+),(\d+) \+\d+,\d+ @@$/) ?? [];
    if (from !== undefined) {
      const start = length === '0' ? Number(from) : Number(from) - 1;
      out.push(...lines.slice(taken, start));
      taken = start;
      continue;
    }
    const [sign, line] = [hunk[0], hunk.slice(1)];
    if (sign !== '+') expect(lines[taken++]).toBe(line);
    if (sign !== '-') out.push(line);
  }
  return text([...out, ...lines.slice(taken)]);
}

describe('the difference of two texts', () => {
  test('is what differs, with three lines around it', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];
    const after = ['a', 'b', 'c', 'd', 'E', 'f', 'g', 'h', 'i', 'j', 'k'];
    expect(lineDiff(text(before), text(after)).join('\n')).toBe(
      ['@@ -2,11 +2,10 @@', ' b', ' c', ' d', '-e', '+E', ' f', ' g', ' h', ' i', ' j', ' k', '-l'].join(
        '\n',
      ),
    );
    expect(lineDiff(text(before), text(after), 1)).toEqual([
      '@@ -4,3 +4,3 @@',
      ' d',
      '-e',
      '+E',
      ' f',
      '@@ -11,2 +11,1 @@',
      ' k',
      '-l',
    ]);
  });

  test.each([
    ['nothing if they are equal', 'a\nb\n', 'a\nb\n', []],
    ['a new text', '', 'a\nb\n', ['@@ -0,0 +1,2 @@', '+a', '+b']],
    ['a removed text', 'a\n', '', ['@@ -1,1 +0,0 @@', '-a']],
    ['a newline at the end', 'a', 'a\n', ['@@ -1,2 +1,1 @@', ' a', '-\\ No newline at the end']],
  ])('is %s', (_, before, after, lines) => {
    expect(lineDiff(before, after)).toEqual(lines);
  });

  const texts = fc.array(fc.constantFrom('a', 'b', 'c', '', ' x'), { maxLength: 30 }).map(text);

  test('turns any text into any other', () => {
    fc.assert(
      fc.property(texts, texts, fc.integer({ min: 0, max: 4 }), (before, after, context) => {
        const hunks = lineDiff(before, after, context);
        expect(hunks.length > 0).toBe(before !== after);
        expect(patched(before, hunks)).toBe(after);
        expect(patched(after, lineDiff(after, before, context))).toBe(before);
      }),
    );
  });

  test('of long texts without a common line is fast', () => {
    const many = (prefix: string): string =>
      text(Array.from({ length: 20_000 }, (_, at) => `${prefix}${at}`));
    expect(lineDiff(many('a'), many('b'))).toHaveLength(40_001);
  });
});
