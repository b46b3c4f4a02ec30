import { expect, test } from 'vitest';

import { completed, nearest } from '../../../../src/shared/base/nearest.ts';

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

test.each([
  ['h20', ['h200-10', 'h200-1', 'rtx'], 'h200-1'],
  ['per-gpu', ['one-per-gpu'], 'one-per-gpu'],
  ['PROV', ['plan', 'provision'], 'provision'],
  ['h2', ['h200-1'], undefined],
  ['200', ['h200-1'], undefined],
  ['zebra', ['h200-1'], undefined],
])('%s is a part of %j: %s', (word, names, whole) => {
  expect(completed(word, names)).toBe(whole);
});

test('without known names none is near', () => {
  expect(nearest('port', [])).toBeUndefined();
});
