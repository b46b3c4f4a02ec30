import { expect, test } from 'vitest';

import { fleet, mistakes } from '../fixture.ts';

test.each([
  [
    'defaults: { pool: p }\nhosts:\n  all: {}\n',
    'inventory.yaml:5:8: all means every host and cannot be the name of a host\nnext: rename the host',
  ],
  [
    'defaults: { pool: p }\ngroups: { all: { hosts: [a] } }\nhosts: { a: {}, b: {} }\n',
    'inventory.yaml:4:16: all means every host, but this group does not have all of them\nnext: rename the group, or add every host to it',
  ],
])('the name all for fewer hosts: %j', (text, expected) => {
  expect(mistakes(text)).toEqual([expected]);
});

test('a group of that name may contain every host, directly or in its children', () => {
  const groups = 'groups: { all: { hosts: [a], children: [g] }, g: { hosts: [b] } }';
  expect(fleet(`defaults: { pool: p }\n${groups}\nhosts: { a: {}, b: {} }\n`).hosts).toHaveLength(2);
});
