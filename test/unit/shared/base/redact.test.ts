import fc from 'fast-check';
import { expect, test } from 'vitest';

import { isTooShort, Redactor } from '../../../../src/shared/base/redact.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { forms } from '../../../lab/support/secret-search.ts';

function redactor(...secrets: string[]): Redactor {
  const made = new Redactor();
  for (const secret of secrets) made.add(new Secret(secret));
  return made;
}

function streamed(made: Redactor, chunks: readonly string[]): string {
  const stream = made.stream();
  return chunks.map((chunk) => stream.push(chunk)).join('') + stream.end();
}

test.each([
  ['unchanged', 'the token is s3cret!', 'the token is ***'],
  ['twice', 's3cret!s3cret!', '******'],
  ['in a URL', 'https://x:a%2Fb%3Ac@host', 'https://x:***@host'],
  ['in JSON', JSON.stringify({ password: 'say "hi"' }), '{"password":"***"}'],
  ['in a Basic header', `Basic ${Buffer.from(':s3cret!').toString('base64')}`, 'Basic ***'],
  ['not at all', 'nothing to see', 'nothing to see'],
])('hides a secret %s', (_case, text, expected) => {
  expect(redactor('s3cret!', 'a/b:c', 'say "hi"').text(text)).toBe(expected);
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const lower = (text: string) => text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
const inJson = (text: string) => JSON.stringify(text).slice(1, -1);
const ascii = (text: string) =>
  text.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

const pat = 'sé~cret/+?&=<"> (key)!';
test.each([
  ['base64 of PAT:', base64(`${pat}:`)],
  ['base64 of :PAT', base64(`:${pat}`)],
  ['base64 without its padding', base64(`${pat}:`).replace(/=+$/, '')],
  ['base64 for URLs', Buffer.from(pat).toString('base64url')],
  ['base64 for URLs, of :PAT', Buffer.from(`:${pat}`).toString('base64url')],
  ['form-encoded', new URLSearchParams({ x: pat }).toString().slice(2)],
  ['form-encoded in lower case', lower(new URLSearchParams({ x: pat }).toString().slice(2))],
  ['percent-encoded', encodeURIComponent(pat)],
  ['percent-encoded in lower case', lower(encodeURIComponent(pat))],
  ['as a URL', encodeURI(pat)],
  ['in JSON', inJson(pat)],
  ['in JSON within JSON', inJson(inJson(pat))],
  [
    'in JSON of Go',
    inJson(pat).replaceAll('&', '\\u0026').replaceAll('<', '\\u003c').replaceAll('>', '\\u003e'),
  ],
  ['in JSON of Python', ascii(inJson(pat))],
  ['in JSON of .NET', String.raw`s\u00E9~cret/\u002B?\u0026=\u003C\u0022\u003E (key)!`],
  ['in JSON of PHP', ascii(inJson(pat)).replaceAll('/', String.raw`\/`)],
])('hides a secret in the form %s, whole', (_case, form) => {
  expect(redactor(pat).text(`a ${form} z`)).toBe('a *** z');
  expect(streamed(redactor(pat), `a ${form} z`.split(''))).toBe('a *** z');
});

test('hides a secret of several lines line by line, but not its brackets', () => {
  const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkq\r\n  hkiG9w0BAQEFAASC\n{\n-----END KEY-----';
  const made = redactor(key);
  for (const line of ['MIIEvQIBADANBgkq', 'hkiG9w0BAQEFAASC']) {
    expect(made.text(`> ${line}`)).toBe('> ***');
    expect(made.text(`> ${base64(line)}`)).toBe('> ***');
  }
  expect(made.text(inJson(key))).toBe('***');
  expect(made.text('{')).toBe('{');
});

test('no form of any secret passes, for any user name and any chunks', () => {
  const secret = fc.oneof(
    fc.string({ minLength: 4, maxLength: 90 }),
    fc.string({ unit: 'binary', minLength: 4, maxLength: 40 }),
    fc.stringMatching(/^[a-z2-7]{52}$/),
    fc
      .array(fc.stringMatching(/^[!-~]{8,40}$/), { minLength: 2, maxLength: 4 })
      .map((lines) => lines.join('\n')),
  );
  const beside = fc.string({ maxLength: 7 });
  fc.assert(
    fc.property(secret, beside, beside, fc.integer({ min: 1, max: 30 }), (value, before, after, piece) => {
      const written = [
        value,
        encodeURIComponent(value),
        lower(encodeURIComponent(value)),
        new URLSearchParams([['', value]]).toString().slice(1),
        inJson(value),
        inJson(inJson(value)),
        base64(value),
        base64(`${before}:${value}`),
        Buffer.from(`${value}:${after}`).toString('base64url'),
        Buffer.from(`${before}:${value}\n${after}`).toString('base64url'),
        ...value.split('\n').filter((line) => line.length >= 8 && line === line.trim()),
      ];
      for (const text of written) {
        const needles = [...forms(value), text].filter((needle) => needle !== '***' && text.includes(needle));
        const chunks = text.match(new RegExp(`[^]{1,${piece}}`, 'g')) ?? [];
        const [whole, cut] = [redactor(value).text(text), streamed(redactor(value), chunks)];
        for (const needle of needles) {
          expect(whole).not.toContain(needle);
          expect(cut).not.toContain(needle);
        }
        expect(whole).toContain('***');
      }
    }),
    { numRuns: 300 },
  );
});

test('a line that contains a carriage return is hidden too', () => {
  const made = redactor('\0\r𐀀𐀀𐀀\n\0\0\0 ');
  expect(made.text('> \0\r𐀀𐀀𐀀')).toBe('> ***');
  expect(streamed(made, '> \0\r𐀀𐀀𐀀'.split(''))).toBe('> ***');
});

test('with a bound the secrets that were registered last are hidden, and always the newest', () => {
  const made = new Redactor(5000);
  const add = (secret: string) => made.add(new Secret(secret));
  add('stays-in-use');
  for (let number = 100; number < 200; number += 1) {
    add(`secret-${number}`);
    add('stays-in-use');
  }
  expect(made.text('stays-in-use secret-198 secret-199')).toBe('*** *** ***');
  expect(made.text('secret-100')).toBe('secret-100');
  add('y'.repeat(9000));
  expect(made.text(`stays-in-use ${'y'.repeat(9000)}`)).toBe('stays-in-use ***');
});

test('an empty secret hides nothing', () => {
  expect(redactor('').text('abc')).toBe('abc');
});

test.each([
  ['words stay readable', 'rtx-box: the pool is gone', 'rtx-box: the pool is gone'],
  ['JSON stays JSON', '{"name":"o","pools":["o"]}', '{"name":"o","pools":["o"]}'],
  [
    'hidden as the password in a URL',
    'https://me:o@host, https://:o@host',
    'https://me:***@host, https://:***@host',
  ],
  ['hidden in a Basic header', `Basic ${Buffer.from(':o').toString('base64')}`, 'Basic ***'],
])('a secret of one letter: %s', (_case, text, expected) => {
  expect(redactor('o').text(text)).toBe(expected);
  expect(streamed(redactor('o'), text.split(''))).toBe(expected);
});

test.each([
  ['', false],
  ['abc', true],
  ['abcd', false],
])('detects a short secret: %j', (value, expected) => {
  expect(isTooShort(new Secret(value))).toBe(expected);
});

test('text that cannot begin a secret passes at once', () => {
  const stream = redactor('abcdef').stream();
  expect(stream.push('hello ab')).toBe('hello ');
  expect(stream.push('x')).toBe('abx');
  expect(stream.push('abcdef!')).toBe('***!');
});

test('a secret registered while the stream runs is hidden from then on', () => {
  const made = new Redactor();
  const stream = made.stream();
  expect(stream.push('token ')).toBe('token ');
  made.add(new Secret('token'));
  expect(stream.push('token') + stream.end()).toBe('***');
});

test('in any chunks the stream writes the same as for the whole text', () => {
  const alphabet = fc.constantFrom('a', 'b', ':', '=');
  const secret = fc.array(alphabet, { minLength: 4, maxLength: 6 }).map((letters) => letters.join(''));
  const cut = fc.array(
    fc.array(alphabet, { maxLength: 9 }).map((letters) => letters.join('')),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), cut, (secrets, chunks) => {
      const made = redactor(...secrets);
      const seen = streamed(made, chunks);
      for (const each of secrets) expect(seen).not.toContain(each);
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['hide', '\u001b[?25h'],
  ['hide', 'ready\u001b[?25h'],
  ['5hide', '\u001b[?25h'],
  ['m-secret', '\u001b[32m'],
])('a terminal gets whole control sequences, though the secret %j may begin in one', (secret, text) => {
  const stream = redactor(secret).stream();
  expect(stream.push(text)).toBe(text);
  expect(stream.push(secret.slice(0, 2))).toBe('');
  expect(stream.push(`${secret.slice(2)}!`)).toBe('***!');
});
