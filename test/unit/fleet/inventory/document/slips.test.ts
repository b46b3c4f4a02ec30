import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFileSync } from 'node:fs';

import { mistakesIn } from '../fixture.ts';

/** A file, and what is read of it: the place of the mistake, what it is, and the cure. */
const cases: readonly (readonly [text: string, place: string, what: string, next: string])[] = [
  [
    'defaults:\n  user: lab\n  pool gpu-lab\n  agents: 2\n',
    '3:3',
    'this line is no "key: value"',
    'put a colon and a blank behind the key: pool: gpu-lab',
  ],
  [
    'defaults:\n  user: lab\n  pool:gpu-lab\n',
    '3:3',
    'this line is no "key: value"',
    'put a colon and a blank behind the key: pool: gpu-lab',
  ],
  [
    'hosts:\n  "a\n   b": {}\n',
    '2:3',
    'this line is no "key: value"',
    'put a colon and a blank behind the key',
  ],
  [
    'defaults: { pool: p\nhosts:\n  a: {}\n',
    '1:11',
    'the { here is not closed',
    'close it with }; over several lines, indent them further than its key',
  ],
  [
    'hosts:\n  a: { labels: { room: b12 }\n  b: {}\n',
    '2:6',
    'the { here is not closed',
    'close it with }; over several lines, indent them further than its key',
  ],
  [
    'hosts:\n  a: { pool: p\n',
    '2:6',
    'the { here is not closed',
    'close it with }; over several lines, indent them further than its key',
  ],
  [
    'projects: [vision\nhosts: {}\n',
    '1:11',
    'the [ here is not closed',
    'close it with ]; over several lines, indent them further than its key',
  ],
  ['hosts:\n  a: { pool: p }}\n  b: {}\n', '2:17', 'there is a } too many', 'take it out'],
  ['projects: [a]]\nhosts: {}\n', '1:14', 'there is a ] too many', 'take it out'],
  [
    'defaults:\n  pool: "gpu-lab\nhosts:\n  a: {}\n',
    '2:9',
    'the " here is not closed on its line',
    'close it with " at the end of its text',
  ],
  [
    "defaults:\n  pool: 'gpu-lab\nhosts:\n  a: {}\n",
    '2:9',
    "the ' here is not closed on its line",
    "close it with ' at the end of its text",
  ],
  [
    'defaults:\n  pool: "p\n  user: "lab"\n',
    '2:9',
    'the " here is not closed on its line',
    'close it with " at the end of its text',
  ],
  [
    'defaults:\n  pool: "gpu" lab\n',
    '2:15',
    'more text stands behind the closing quote',
    "put the whole value in quotes; one within it is written twice: 'it''s'",
  ],
  [
    'defaults:\n  pool: p\n   user: x\nhosts: {}\n',
    '3:4',
    'this line is indented further than the one above, which has its value already',
    'give it the same indentation as the keys beside it',
  ],
  [
    'defaults:\n    pool: p\n  user: x\nhosts: {}\n',
    '3:3',
    'this line is indented unlike the keys beside it',
    'give it the same indentation as the keys beside it',
  ],
  [
    'defaults:\n  pool: gpu: lab\n',
    '2:9',
    'two ": " stand in this line, and only one key can',
    'put the value in quotes, or begin a new line for the second key',
  ],
  ['defaults:\n  pool: @gpu\n', '2:9', 'text cannot begin with @', 'put the text in quotes'],
  ['defaults:\n  pool: %gpu\n', '2:9', 'text cannot begin with %', 'put the text in quotes'],
  ['%x: 1\nhosts: {}\n', '1:1', 'a line cannot begin with %', 'put the text in quotes'],
  [
    'hosts: {}\n---\nhosts: {}\n',
    '2:1',
    'a second document begins here',
    'keep one inventory in a file: take this line out, or what follows it',
  ],
  [
    'defaults:\n  pool: "a\\q"\n',
    '2:11',
    'in double quotes \\ begins a sign of its own, and none is written so',
    'double the \\, or use single quotes',
  ],
  [
    'hosts:\n  a: {}\n  - b\n',
    '3:3',
    'an item of a list stands among keys',
    'put it below the key that it belongs to, indented further',
  ],
  ['hosts: { a: {} b: {} }\n', '1:16', 'a comma is missing before this', 'put one there'],
  [
    'hosts: { a: { address: x:y: z } }\n',
    '1:24',
    'a key with its value stands where text belongs',
    'put text that has ": " in it in quotes',
  ],
  ['hosts:\n  a: *\n', '2:6', '* and & want a name behind them', 'put the text in quotes, or write the name'],
  ['hosts:\n  a: &x &y z\n', '2:9', 'two names with & stand before one value', 'keep one of them'],
  ['a: &x 1\nb: &y *x\n', '2:7', 'a name with & stands before another name with *', 'keep one of them'],
  [
    'hosts:\n<<<<<<< HEAD\n  a: {}\n=======\n  b: {}\n>>>>>>> x\n',
    '2:1',
    'the mark of a merge conflict stands here',
    'keep one of the two sides, and take the marks out',
  ],
  [`hosts:\n  ${'k'.repeat(1100)}: {}\n`, '2:3', 'a key has more than 1024 characters', 'shorten it'],
  ['hosts: |x\n  a\n', '1:9', 'text stands behind | or >', 'begin it on the next line'],
  [
    'projects: - a\n',
    '1:11',
    'a list begins on the line of its key',
    'begin it on the next line, or write it as [a, b]',
  ],
  ['hosts: {}#x\n', '1:10', 'the # of a comment wants a blank before it', 'put a blank there'],
];

describe('a slip is told in our words, where it was made', () => {
  test.each(cases)('%j', (text, place, what, next) => {
    expect(mistakesIn(text)).toEqual([`inventory.yaml:${place}: ${what}\nnext: ${next}`]);
  });
});

const example = readFileSync(new URL('../../../../../inventory.example.yaml', import.meta.url), 'utf8')
  // Small, so that many damaged ones can be tried.
  .replaceAll(/ +#.*/g, '');

/** Words of the parser's grammar, which no sentence of ours has. */
const grammar = /implicit|scalar|\bflow\b|-ind\b|node end|\bnodes?\b|sequence|\bstream\b|alias count/i;

test('however a file is damaged, the words of the parser are not told', () => {
  const sign = fc.constantFrom(...`{ } [ ] : - " ' * & ! | > # % @ , ? \` \t`.split(' '), '\n', ' ');
  fc.assert(
    fc.property(fc.nat(example.length), fc.nat(3), fc.array(sign, { maxLength: 3 }), (at, gone, put) => {
      const told = mistakesIn(example.slice(0, at) + put.join('') + example.slice(at + gone));
      const own = told.map((text) => text.replace(/\nseen: .*/, '').replace(/^\S+ \S+/, ''));
      expect(own.filter((text) => grammar.test(text))).toEqual([]);
    }),
    { numRuns: 300 },
  );
});
