import fc from 'fast-check';
import { expect, test } from 'vitest';

import { isTooShort, Redactor } from '../../../src/base/redact.ts';
import { Secret } from '../../../src/base/secret.ts';

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
  ['as it is', 'the token is s3cret!', 'the token is ***'],
  ['twice', 's3cret!s3cret!', '******'],
  ['in a URL', 'https://x:a%2Fb%3Ac@host', 'https://x:***@host'],
  ['in JSON', JSON.stringify({ password: 'say "hi"' }), '{"password":"***"}'],
  ['in a Basic header', `Basic ${Buffer.from(':s3cret!').toString('base64')}`, 'Basic ***'],
  ['not at all', 'nothing to see', 'nothing to see'],
])('hides a secret %s', (_case, text, expected) => {
  expect(redactor('s3cret!', 'a/b:c', 'say "hi"').text(text)).toBe(expected);
});

test('an empty secret hides nothing', () => {
  expect(redactor('').text('abc')).toBe('abc');
});

test.each([
  ['words stay readable', 'rtx-box: the pool is gone', 'rtx-box: the pool is gone'],
  ['JSON stays JSON', '{"name":"o","pools":["o"]}', '{"name":"o","pools":["o"]}'],
  [
    'in a URL it can only be the password',
    'https://me:o@host, https://:o@host',
    'https://me:***@host, https://:***@host',
  ],
  ['in a Basic header too', `Basic ${Buffer.from(':o').toString('base64')}`, 'Basic ***'],
])('a secret of one letter: %s', (_case, text, expected) => {
  expect(redactor('o').text(text)).toBe(expected);
  expect(streamed(redactor('o'), text.split(''))).toBe(expected);
});

test.each([
  ['', false],
  ['abc', true],
  ['abcd', false],
])('a secret of few letters is known as such: %j', (value, expected) => {
  expect(isTooShort(new Secret(value))).toBe(expected);
});

test('what cannot be the beginning of a secret is passed on at once', () => {
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

test('however the text is cut into chunks, the stream says what the whole would say', () => {
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
