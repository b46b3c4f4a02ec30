import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parseDocument } from 'yaml';
import { describe, expect, test } from 'vitest';

import { firstYamlError } from '../../../../../src/fleet/inventory/document/yaml-errors.ts';
import { mistakesIn } from '../fixture.ts';

const next = 'next: correct the YAML here or in the lines above; quote text with special characters';

/** A file, and what is read of it: place, the parser's message, the line and its caret. */
const cases: readonly (readonly [text: string, place: string, message: string, ...snippet: string[]])[] = [
  [
    'defaults:\n  user: lab\n  pool gpu-lab\n  agents: 2\n',
    '3:3',
    'Implicit keys need to be on a single line',
    '│   pool gpu-lab',
    '│   ^',
  ],
  [
    'hosts:\n  a: { pool: p\n',
    '2:14',
    'Flow map in block collection must be sufficiently indented and end with a }',
    '│   a: { pool: p',
    '│              ^',
  ],
  [
    'hosts:\n  a: { pool: p }}\n  b: {}\n',
    '2:17',
    'Unexpected flow-map-end token in YAML stream: "}"',
    '│   a: { pool: p }}',
    '│                 ^',
  ],
  [
    'defaults:\n    pool: p\n  user: x\nhosts: {}\n',
    '3:1',
    'All mapping items must start at the same column',
    '│   user: x',
    '│ ^',
  ],
  [
    'defaults:\n  pool: @gpu\n',
    '2:9',
    'Plain value cannot start with reserved character @',
    '│   pool: @gpu',
    '│         ^',
  ],
  ['hosts:\n\ta: {}\n', '2:1', 'Tabs are not allowed as indentation', '│  a: {}', '│ ^'],
  [
    'defaults: { pool: ${POOL} }\nhosts: { a: {} }\n',
    '1:20',
    'Unexpected flow-map-start at node end',
    '│ defaults: { pool: ${POOL} }',
    '│                    ^',
  ],
  [
    'defaults:\n  pool: {arch}-cuda{cuda}\n',
    '2:15',
    'Unexpected scalar at node end',
    '│   pool: {arch}-cuda{cuda}',
    '│               ^',
  ],
  ['hosts: !vault x\n', '1:8', 'Unresolved tag: !vault', '│ hosts: !vault x', '│        ^'],
  [
    'hosts:\n<<<<<<< HEAD\n  a: {}\n=======\n  b: {}\n>>>>>>> x\n',
    '2:1',
    'Implicit keys need to be on a single line',
    '│ <<<<<<< HEAD',
    '│ ^',
  ],
  ['hosts: {}\n---\nhosts: {}\n', '2:1', 'Source contains multiple documents', '│ ---', '│ ^'],
];

describe('malformed YAML', () => {
  test.each(cases)('%j', (text, place, message, ...snippet) => {
    expect(mistakesIn(text)).toEqual([
      `inventory.yaml:${place}: ${message}\nseen: ${snippet.join('\n')}\n${next}`,
    ]);
  });

  test('a long line is shown around the caret', () => {
    const [told = ''] = mistakesIn(`hosts: { ${'a: {}, '.repeat(30)} b: {} c: {} }\n`);
    const [, line = '', caret = ''] = told.split('\n');
    expect(line.length).toBeLessThan(75);
    expect(line.slice(caret.length - 1)).toMatch(/^b: \{\} c/);
  });

  test.each([
    'hosts: { a: { sudoPassword: "opensesame" x } }\n',
    `hosts: { a: { note: "${'ab2'.repeat(17)}c" x } }\n`,
    `hosts: { a: { note: "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" x } }\n`,
  ])('a line that may hold a secret is not shown: %s', (text) => {
    const [told = ''] = mistakesIn(text);
    expect(told).toContain('inventory.yaml:1:');
    expect(told).not.toContain('seen:');
  });
});

const example = readFileSync(new URL('../../../../../inventory.example.yaml', import.meta.url), 'utf8')
  // Small, so that many damaged ones can be tried.
  .replaceAll(/ +#.*/g, '');

test('however a file is damaged, the caret is below a character of the line, or behind its end', () => {
  const sign = fc.constantFrom(...`{ } [ ] : - " ' * & ! | > # % @ , ? \` \t`.split(' '), '\n', ' ');
  fc.assert(
    fc.property(fc.nat(example.length), fc.nat(3), fc.array(sign, { maxLength: 3 }), (at, gone, put) => {
      const text = example.slice(0, at) + put.join('') + example.slice(at + gone);
      const { errors, warnings } = parseDocument(text, { prettyErrors: false, logLevel: 'error' });
      const found = firstYamlError(text, [...errors, ...warnings]);
      if (found?.snippet === undefined) return;
      const [line = '', caret = '', ...more] = found.snippet.split('\n');
      expect(more).toEqual([]);
      expect(caret).toMatch(/^│ *\^$/);
      expect(caret.length).toBeLessThanOrEqual(line.length + 1);
    }),
    { numRuns: 300 },
  );
});
