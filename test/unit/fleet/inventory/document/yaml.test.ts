import { describe, expect, test } from 'vitest';

import { mistakes } from '../fixture.ts';

/** Title, the inventory from line 3 on, and the messages. */
const cases: readonly (readonly [title: string, text: string, ...expected: string[]])[] = [
  [
    'a duplicate key',
    'hosts: { a: { pool: p } }\nhosts: {}\n',
    'inventory.yaml:4:1: duplicate key hosts\nseen: first defined at inventory.yaml:3:1\nnext: merge both into one',
  ],
  [
    'an alias without an anchor',
    'hosts: { a: { <<: *big }, b: *small }\n',
    'inventory.yaml:3:19: *big has no anchor\nnext: add &big to the value, earlier in the file',
    'inventory.yaml:3:30: *small has no anchor\nnext: add &small to the value, earlier in the file',
  ],
  [
    'a merge of a value without keys, and a second merge',
    'defaults: &d { pool: p }\nhosts: { a: { <<: *d, <<: *d }, b: { <<: x }, c: { <<: [*d, 1] } }\n',
    'inventory.yaml:4:23: duplicate key <<\nseen: first defined at inventory.yaml:4:15\nnext: merge both into one',
    'inventory.yaml:4:38: << merges keys, but this value has none\nexpected: *NAME of a value with keys, or a list of such\nnext: remove it',
    'inventory.yaml:4:52: << merges keys, but this value has none\nexpected: *NAME of a value with keys, or a list of such\nnext: remove it',
  ],
];

describe('duplicate keys and aliases', () => {
  test.each(cases)('%s', (_, text, ...expected) => {
    expect(mistakes(text)).toEqual(expected);
  });
});
