import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parseDocument, YAMLParseError } from 'yaml';
import { describe, expect, test } from 'vitest';

import { firstYamlError } from '../../../../../src/fleet/inventory/document/yaml-errors.ts';
import { mistakesIn } from '../fixture.ts';

const next = 'next: correct the YAML here or in the lines above; quote text with special characters';

/** A file and its error: place, the parser's message, the line and its caret. */
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

/** Other kinds of malformed YAML: place and the parser's message. */
const kinds: readonly (readonly [text: string, place: string, message: string])[] = [
  ['defaults:\n  user: lab\n  pool:gpu-lab\n', '3:3', 'Implicit map keys need to be followed by map values'],
  ['hosts:\n  "a\n   b": {}\n', '2:3', 'Implicit keys need to be on a single line'],
  [
    'defaults: { pool: p\nhosts:\n  a: {}\n',
    '2:1',
    'Flow map in block collection must be sufficiently indented and end with a }',
  ],
  [
    'hosts:\n  a: { labels: { rack: b12 }\n  b: {}\n',
    '3:3',
    'Flow map in block collection must be sufficiently indented and end with a }',
  ],
  [
    'projects: [vision\nhosts: {}\n',
    '2:1',
    'Flow sequence in block collection must be sufficiently indented and end with a ]',
  ],
  ['projects: [a]]\nhosts: {}\n', '1:14', 'Unexpected flow-seq-end token in YAML stream: "]"'],
  ['defaults:\n  pool: "gpu-lab\nhosts:\n  a: {}\n', '4:7', 'Missing closing "quote'],
  ["defaults:\n  pool: 'gpu-lab\nhosts:\n  a: {}\n", '4:7', "Missing closing 'quote"],
  ['defaults:\n  pool: "p\n  user: "lab"\n', '2:11', 'Missing closing "quote'],
  ['defaults:\n  pool: "gpu" lab\n', '2:15', 'Unexpected scalar at node end'],
  [
    'defaults:\n  pool: p\n   user: x\nhosts: {}\n',
    '2:9',
    'Nested mappings are not allowed in compact mappings',
  ],
  ['defaults:\n  pool: gpu: lab\n', '2:9', 'Nested mappings are not allowed in compact mappings'],
  ['defaults:\n  pool: %gpu\n', '2:9', 'Plain value cannot start with directive indicator character %'],
  ['%x: 1\nhosts: {}\n', '2:1', 'Missing directives-end/doc-start indicator line'],
  ['defaults:\n  pool: "a\\q"\n', '2:11', 'Invalid escape sequence \\q'],
  ['hosts:\n  a: {}\n  - b\n', '3:1', 'A block sequence may not be used as an implicit map key'],
  ['hosts: { a: {} b: {} }\n', '1:16', 'Unexpected scalar at node end'],
  [
    'hosts: { a: { address: x:y: z } }\n',
    '1:24',
    'Block collections are not allowed within flow collections',
  ],
  ['hosts:\n  a: *\n', '2:6', 'Alias cannot be an empty string'],
  ['hosts:\n  a: &x &y z\n', '2:9', 'A node can have at most one anchor'],
  ['a: &x 1\nb: &y *x\n', '2:7', 'An alias node must not specify any properties'],
  [
    `hosts:\n  ${'k'.repeat(1100)}: {}\n`,
    '2:3',
    'The : indicator must be at most 1024 chars after the start of an implicit block mapping key',
  ],
  ['hosts: |x\n  a\n', '1:9', 'Block scalar header includes extra characters: |x'],
  ['projects: - a\n', '1:11', 'Unexpected block-seq-ind on same line with key'],
  ['hosts: {}#x\n', '1:10', 'Comments must be separated from other tokens by white space characters'],
];

describe('malformed YAML', () => {
  test.each(kinds)('%j', (text, place, message) => {
    const found = mistakesIn(text);
    expect(found).toHaveLength(1);
    expect(found[0]?.split('\n')[0]).toBe(`inventory.yaml:${place}: ${message}`);
    expect(found[0]).toContain(`\n${next}`);
  });

  test.each(cases)('%j', (text, place, message, ...snippet) => {
    expect(mistakesIn(text)).toEqual([
      `inventory.yaml:${place}: ${message}\nseen: ${snippet.join('\n')}\n${next}`,
    ]);
  });

  test.each([
    'hosts: { a: { sudoPassword: "opensesame" x } }\n',
    'hosts: { a: { note: "a Token" x } }\n',
    'hosts: { a: { clientSecret: "opensesame" x } }\n',
    `hosts: { a: { note: "${'ab2'.repeat(17)}c" x } }\n`,
    `hosts: { a: { note: "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" x } }\n`,
  ])('a line that may contain a secret is not shown: %s', (text) => {
    const [mistake = ''] = mistakesIn(text);
    expect(mistake).toContain('inventory.yaml:1:');
    expect(mistake).not.toContain('seen:');
  });
});

/** Returns `0.23456789` repeated: the digits show the columns of a line. */
const digits = (length: number): string => '0.23456789'.repeat(20).slice(0, length);

const places: readonly (readonly [
  name: string,
  source: string,
  at: number,
  offset: number,
  line: string,
  column: number,
])[] = [
  ['the first character', 'a: b\nc: d\n', 0, 0, 'a: b', 0],
  ['in the second line', 'a: b\nc: d\n', 8, 8, 'c: d', 3],
  ['after the end of a line', 'a: b\nc: d\n', 4, 4, 'a: b', 4],
  ['at an empty line: the end of the text above', 'a: {\n\nb', 5, 3, 'a: {', 3],
  ['at a blank line: the end of the text above', 'a: {\n  \n   ', 10, 3, 'a: {', 3],
  ['without any text', '\n\n', 1, 0, '', 0],
  ['a line of 60 characters is whole', digits(60), 45, 45, digits(60), 45],
  ['a shorter line is whole', digits(45), 40, 40, digits(45), 40],
  ['a long line, near its start', digits(150), 20, 20, digits(60), 20],
  ['a long line, in its middle', digits(150), 75, 75, digits(150).slice(45, 105), 30],
  ['a long line, near its end', digits(150), 140, 140, digits(150).slice(90), 50],
  ['a tab is as wide as a blank', '\ta:\tb', 4, 4, ' a: b', 4],
  ['hidden characters are escaped', 'a:\u200b b', 4, 4, String.raw`a:\u200b b`, 9],
  ['hidden characters after the caret, too', 'a: b\u200b', 3, 3, String.raw`a: b\u200b`, 3],
  ['blanks at the end are not shown', 'a: b   \n', 3, 3, 'a: b', 3],
  ['31 characters of a word are no secret', `a: ${'z'.repeat(31)}`, 3, 3, `a: ${'z'.repeat(31)}`, 3],
];

test.each(places)('the line and its caret: %s', (_, source, at, offset, line, column) => {
  const errors = [new YAMLParseError([at, at + 1], 'UNEXPECTED_TOKEN', 'the message')];
  expect(firstYamlError(source, errors)).toEqual({
    offset,
    message: 'the message',
    snippet: `│ ${line}\n│ ${' '.repeat(column)}^`,
  });
});

test('a file without errors has none', () => {
  expect(firstYamlError('a: b\n', [])).toBeUndefined();
});

const example = readFileSync(new URL('../../../../../inventory.example.yaml', import.meta.url), 'utf8')
  // Without comments, to try more damaged files.
  .replaceAll(/ +#.*/g, '');

test('in any damaged file the caret is below a character of the line, or after its end', () => {
  const sign = fc.constantFrom(...`{ } [ ] : - " ' * & ! | > # % @ , ? \` \t`.split(' '), '\n', ' ');
  fc.assert(
    fc.property(
      fc.nat(example.length),
      fc.nat(3),
      fc.array(sign, { maxLength: 3 }),
      (at, deleted, inserted) => {
        const text = example.slice(0, at) + inserted.join('') + example.slice(at + deleted);
        const { errors, warnings } = parseDocument(text, { prettyErrors: false, logLevel: 'error' });
        const found = firstYamlError(text, [...errors, ...warnings]);
        if (found?.snippet === undefined) return;
        const [line = '', caret = '', ...more] = found.snippet.split('\n');
        expect(more).toEqual([]);
        expect(caret).toMatch(/^│ *\^$/);
        expect(caret.length).toBeLessThanOrEqual(line.length + 1);
      },
    ),
    { numRuns: 300 },
  );
});
