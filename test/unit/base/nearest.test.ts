import { expect, test } from 'vitest';

import { nearest } from '../../../src/base/nearest.ts';

const known = ['address', 'port', 'pool', 'datasets', 'identityFile'];

test.each([
  ['adress', 'address'],
  ['prot', 'port'],
  ['poool', 'pool'],
  ['Pool', 'pool'],
  ['identityfile', 'identityFile'],
  ['dataset', 'datasets'],
  ['x', undefined],
  ['zebra', undefined],
  ['', undefined],
])('%s → %s', (word, name) => {
  expect(nearest(word, known)).toBe(name);
});

test('nothing is near where nothing is known', () => {
  expect(nearest('port', [])).toBeUndefined();
});
