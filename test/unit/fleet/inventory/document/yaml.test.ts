import { describe, expect, test } from 'vitest';

import { mistakes } from '../fixture.ts';

/** Title, the inventory from line 3 on, and what the user reads. */
const cases: readonly (readonly [title: string, text: string, ...expected: string[]])[] = [
  [
    'a duplicate key',
    'hosts: { a: { pool: p } }\nhosts: {}\n',
    'inventory.yaml:4:1: the key hosts stands here twice\nseen: the first one at inventory.yaml:3:1\nnext: keep one of them, with what belongs to both',
  ],
  [
    'an alias of nothing',
    'hosts: { a: { <<: *big }, b: *small }\n',
    'inventory.yaml:3:19: *big stands for nothing\nnext: write &big where the value is written out, further up',
    'inventory.yaml:3:30: *small stands for nothing\nnext: write &small where the value is written out, further up',
  ],
  [
    'a merge of something that has no keys, and one merge too many',
    'defaults: &d { pool: p }\nhosts: { a: { <<: *d, <<: *d }, b: { <<: x }, c: { <<: [*d, 1] } }\n',
    'inventory.yaml:4:23: the key << stands here twice\nseen: the first one at inventory.yaml:4:15\nnext: keep one of them, with what belongs to both',
    'inventory.yaml:4:38: << takes over keys, and here are none\nexpected: *NAME of a value with keys, or a list of such\nnext: take it out',
    'inventory.yaml:4:52: << takes over keys, and here are none\nexpected: *NAME of a value with keys, or a list of such\nnext: take it out',
  ],
];

describe('duplicate keys and aliases', () => {
  test.each(cases)('%s', (_, text, ...expected) => {
    expect(mistakes(text)).toEqual(expected);
  });
});
