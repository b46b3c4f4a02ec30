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

/** Everything that a terminal obeys and that turns the writing round. */
const dangerous =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/u;

/** Pieces of attacks with ordinary words between them. */
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

describe('whatever is said', () => {
  test('no control is left, no mark that turns the writing, no half character', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(foreignLines(text)).not.toMatch(dangerous);
        expect(foreignLine(text)).not.toMatch(dangerous);
        expect(foreignLine(text)).not.toContain('\n');
      }),
    );
  });

  test('it is bounded, and cleaning it again changes nothing', () => {
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

  test('a megabyte of openings is read in one go', () => {
    for (const opening of ['\u001b', '\u001b[', '\u001b]', '\u001b[1;', '\ud800', '\u202e', '\u001bP\u001b'])
      expect(foreignLines(opening.repeat(200_000), 100).length).toBeLessThanOrEqual(100);
  });

  test('what a tree holds is clean, its keys too', () => {
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
])('ordinary text stays as it is: %s', (text) => {
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
  ['an opening that never closes hides its line and no more', 'a\u001b]0;b\nc', 'a\nc'],
  [
    'an opening that never closes hides no more than a terminal string',
    `\u001b]${'x'.repeat(5000)}`,
    'x'.repeat(904),
  ],
])('%s', (_, text, expected) => {
  expect(foreignLines(text)).toBe(expected);
});

test('one line: breaks and tabs are a space, none at the ends', () => {
  expect(foreignLine('\na\r\n\tb\u2028c\n')).toBe('a b c');
});

test('objects of a class keep what they hide', () => {
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

  test('lets styles of ours, lines and tabs pass, cut where they may be, and escapes the rest', () => {
    expect(through('\u001b[1mbold\u001b[22m\ta\n')).toBe('\u001b[1mbold\u001b[22m\ta\n');
    expect(through('\u001b[3', '1mred\u001b', '[39m')).toBe('\u001b[31mred\u001b[39m');
    expect(through('\u001b[2Kx\u001b[1Ay\u001b[8mz')).toBe('\\u001b[2Kx\\u001b[1Ay\\u001b[8mz');
    expect(through('\u001b]0;t\u0007\r\u009b\u202e', '\u001b')).toBe(
      '\\u001b]0;t\\u0007\\u000d\\u009b\\u202e\\u001b',
    );
  });

  test('a JSON document says the same behind it', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        const text = through(JSON.stringify(value, null, 2));
        expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

test('a quoted piece of a file shows what cannot be seen', () => {
  expect(excerpt('a\u202e\t\u0007é\n')).toBe('a\\u202e\\u0009\\u0007é\\u000a');
});

test('a secret with controls is hidden where it was cleaned too', () => {
  const redactor = new Redactor();
  redactor.add(new Secret('first line\nsecond\u0007line'));
  for (const clean of [foreignLine, foreignLines])
    expect(redactor.text(clean('it is first line\nsecond\u0007line!'))).toBe('it is ***!');
});
