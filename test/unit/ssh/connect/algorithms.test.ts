import { expect, test } from 'vitest';

import { adjust } from '../../../../src/ssh/connect/algorithms.ts';

const supported = ['a-gcm', 'b-ctr', 'c-cbc'];

test.each([
  [undefined, supported],
  ['b-ctr,unknown,a-gcm', ['b-ctr', 'a-gcm']],
  ['+c-cbc', supported],
  ['-*-ctr', ['a-gcm', 'c-cbc']],
  ['^c-cbc', ['c-cbc', 'a-gcm', 'b-ctr']],
])('%s', (text, expected) => {
  expect(adjust(text, supported)).toEqual(expected);
});
