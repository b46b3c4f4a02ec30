import { inspect } from 'node:util';

import { expect, test } from 'vitest';

import { Secret } from '../../../../src/shared/base/secret.ts';

const secret = new Secret('hunter2-hunter2');

test.each<[string, string]>([
  ['toString', secret.toString()],
  ['concatenation', 'x' + String(secret)],
  ['JSON', JSON.stringify({ secret, list: [secret] })],
  ['inspect', inspect({ nested: { secret } }, { depth: 5, showHidden: true })],
  ['keys', Object.entries(secret).join()],
  ['error', String(new Error('failed', { cause: secret }).cause)],
])('a secret is hidden in %s', (_, text) => {
  expect(text).not.toContain('hunter2');
});

test('only reveal() returns the value of a secret', () => {
  expect(secret.reveal()).toBe('hunter2-hunter2');
});
