import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  foreignLine,
  foreignLines,
  foreignValue,
  excerpt,
} from '../../../../src/shared/base/foreign-text.ts';
import { OutputFilter } from '../../../../src/shared/base/terminal-output.ts';
import { Redactor } from '../../../../src/shared/base/redact.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';

/** Matches control characters, and marks that reverse the writing direction. */
const dangerous =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/u;

/** Generates pieces of attacks between ordinary words. */
const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    '\u001b',
    '\u001b[',
    '\u001b[2K',
    '\u001b]0;title\u0007',
    '\u001b]8;;http://x\u001b\\',
    '\u001bP',
    '\u001b_',
    '\u001b(0',
    '\u009b31m',
    '\u009d',
    '\u009c',
    '\u0085',
    '\r',
    '\r\n',
    '\n',
    '\t',
    '\b',
    '\u0000',
    '\u007f',
    '\u202e',
    '\u2066',
    '\u200b',
    '\u200d',
    '\ufe0f',
    '\ud83d',
    '\ude00',
    '😀',
    'é',
    '日本',
    '[31m',
    'm',
    ';',
    '\\',
  ),
);
const hostile = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));

describe('any text', () => {
  test('keeps no control character, no direction mark, no half character', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(foreignLines(text)).not.toMatch(dangerous);
        expect(foreignLine(text)).not.toMatch(dangerous);
        expect(foreignLine(text)).not.toContain('\n');
      }),
    );
  });

  test('is bounded, and unchanged by a second cleaning', () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 2, max: 60 }), (text, limit) => {
        for (const clean of [foreignLine, foreignLines]) {
          const once = clean(text, limit);
          expect(once.length).toBeLessThanOrEqual(limit);
          expect(clean(once, limit)).toBe(once);
        }
      }),
    );
  });

  test('with a megabyte of sequence starts is read in linear time', () => {
    for (const opening of ['\u001b', '\u001b[', '\u001b]', '\u001b[1;', '\ud800', '\u202e', '\u001bP\u001b'])
      expect(foreignLines(opening.repeat(200_000), 100).length).toBeLessThanOrEqual(100);
  });

  test('in a tree is clean, including keys', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(JSON.stringify(foreignValue(value))).not.toMatch(dangerous);
        expect(JSON.stringify(foreignValue(value))).not.toMatch(/\\u00[01]/);
      }),
    );
  });
});

test.each([
  'plain words, 100 % of them: ~/.ssh/config {a,b} [0;1m',
  'Größe größer, façade, Łódź, Ωμέγα, Привет',
  '日本語 한국어 中文 ไทย हिन्दी العربية עברית',
  '👩‍👩‍👧‍👦 ❤️ 1️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽 🇩🇪',
  'می‌خواهم',
])('ordinary text is unchanged: %s', (text) => {
  expect(foreignLine(text)).toBe(text);
  expect(foreignLines(`${text}\n${text}\n`)).toBe(`${text}\n${text}\n`);
});

test.each([
  ['colours', '\u001b[31mred\u001b[0m', 'red'],
  ['a title', 'a\u001b]0;you are root\u0007b', 'ab'],
  ['a link', '\u001b]8;;http://evil\u001b\\text\u001b]8;;\u001b\\', 'text'],
  ['a device string', 'a\u001bP1$r0m\u001b\\b', 'ab'],
  ['an application command', 'a\u001b_Gf=100\u001b\\b', 'ab'],
  ['a character set', '\u001b(0lqqk\u001b(B', 'lqqk'],
  ['a reset', 'a\u001bcb', 'ab'],
  ['C1 controls, which may be a broken umlaut', 'Stra\u00c3\u009fe', 'Stra\u00c3e'],
  ['direction marks', 'exe\u202egpj.\u202c', 'exegpj.'],
  ['a zero-width space in a name', 'web\u200b1 web\u200d1', 'web1 web1'],
  ['a line that overwrites itself', '10 %\r20 %\r\n', '10 %\n20 %\n'],
  ['a tab', 'ab\tc', 'ab      c'],
  ['half a character', 'a\ud83d', 'a\ufffd'],
  ['a tower of accents', `x${'\u0301'.repeat(200)}y`, `x${'\u0301'.repeat(8)}y`],
  ['a text in tags behind an emoji', `🏴${'\u{e0041}'.repeat(200)}y`, `🏴${'\u{e0041}'.repeat(8)}y`],
  ['an unclosed sequence hides only its line', 'a\u001b]0;b\nc', 'a\nc'],
  ['an unclosed sequence hides at most a terminal string', `\u001b]${'x'.repeat(5000)}`, 'x'.repeat(904)],
])('%s', (_, text, expected) => {
  expect(foreignLines(text)).toBe(expected);
});

test('one line: breaks and tabs become a space, without spaces at the ends', () => {
  expect(foreignLine('\na\r\n\tb\u2028c\n')).toBe('a b c');
});

test('objects of a class are unchanged', () => {
  const secret = new Secret('x');
  expect(foreignValue({ secret, list: [1, null, undefined, true] })).toEqual({
    secret,
    list: [1, null, undefined, true],
  });
});

test('a tree that is too deep is cut', () => {
  let deep: unknown = 'x\u001b';
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(JSON.stringify(foreignValue(deep))).toMatch(/^\[+"…"\]+$/);
});

describe('the filter before a terminal', () => {
  const through = (...chunks: string[]): string => {
    const filter = new OutputFilter();
    return [...chunks.map((chunk) => filter.push(chunk)), filter.end()].join('');
  };

  test('passes our styles, lines and tabs in any chunks, and escapes the rest', () => {
    expect(through('\u001b[1mbold\u001b[22m\ta\n')).toBe('\u001b[1mbold\u001b[22m\ta\n');
    expect(through('\u001b[3', '1mred\u001b', '[39m')).toBe('\u001b[31mred\u001b[39m');
    expect(through('\u001b[2Kx\u001b[1Ay\u001b[8mz')).toBe('\\u001b[2Kx\\u001b[1Ay\\u001b[8mz');
    expect(through('\u001b]0;t\u0007\r\u009b\u202e', '\u001b')).toBe(
      '\\u001b]0;t\\u0007\\u000d\\u009b\\u202e\\u001b',
    );
  });

  test('keeps the value of a JSON document', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = through(JSON.stringify(value, null, 2));
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

test('a quoted excerpt of a file shows invisible characters', () => {
  expect(excerpt('a\u202e\t\u0007é\n')).toBe('a\\u202e\\u0009\\u0007é\\u000a');
});

test('a secret with control characters is also hidden in cleaned text', () => {
  const redactor = new Redactor();
  redactor.add(new Secret('first line\nsecond\u0007line'));
  for (const clean of [foreignLine, foreignLines])
    expect(redactor.text(clean('it is first line\nsecond\u0007line!'))).toBe('it is ***!');
});
