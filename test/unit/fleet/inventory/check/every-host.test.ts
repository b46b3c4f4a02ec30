import { expect, test } from 'vitest';

import { fleet, mistakes } from '../fixture.ts';

test.each([
  [
    'defaults: { pool: p }\nhosts:\n  all: {}\n',
    'inventory.yaml:5:8: all stands for every host, and cannot be the name of one\nnext: give it another name',
  ],
  [
    'defaults: { pool: p }\ngroups: { all: { hosts: [a] } }\nhosts: { a: {}, b: {} }\n',
    'inventory.yaml:4:16: all stands for every host, and this group does not have all of them\nnext: give it another name, or put every host into it',
  ],
])('the name all for less: %j', (text, expected) => {
  expect(mistakes(text)).toEqual([expected]);
});

test('a group of that name may have every host, its own or its children’s', () => {
  const groups = 'groups: { all: { hosts: [a], children: [g] }, g: { hosts: [b] } }';
  expect(fleet(`defaults: { pool: p }\n${groups}\nhosts: { a: {}, b: {} }\n`).hosts).toHaveLength(2);
});
