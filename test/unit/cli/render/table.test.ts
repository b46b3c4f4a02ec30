import fc from 'fast-check';
import { expect, test } from 'vitest';

import { widthOf } from '../../../../src/cli/render/lines.ts';
import { columns, tableLines, type Cell, type Column } from '../../../../src/cli/render/table.ts';

const plain = (width: number): Parameters<typeof tableLines>[2] => ({ width, paint: (_, text) => text });

const heads: readonly Column[] = [
  { heading: ['host'], yields: 9 },
  { heading: ['system'], yields: 1 },
  { heading: ['driver'], yields: 2 },
];
const rows: readonly (readonly Cell[])[] = [
  [{ texts: ['a'] }, { texts: ['Debian GNU/Linux', 'Debian', 'deb'] }, { texts: ['580.95.05', '580'] }],
  [{ texts: ['long-name'] }, { texts: ['-'] }, { texts: ['-'] }],
];

test('a table is as wide as its content', () => {
  expect(tableLines(heads, rows, plain(80))).toEqual([
    'host       system            driver',
    'a          Debian GNU/Linux  580.95.05',
    'long-name  -                 -',
  ]);
});

test('columns are shortened in order, and spare space is used again', () => {
  expect(tableLines(heads, rows, plain(27))).toEqual([
    'host       system  driver',
    'a          Debian  580',
    'long-name  -       -',
  ]);
  expect(tableLines(heads, rows, plain(33))[1]).toBe('a          Debian  580.95.05');
});

test('if the columns do not fit, each row becomes a list', () => {
  expect(tableLines(heads, rows, plain(20))).toEqual([
    'a',
    '  system  deb',
    '  driver  580',
    'long-name',
    '  system  -',
    '  driver  -',
  ]);
});

test('columns that may leave are left out before that', () => {
  const optional = heads.map((head, index) => (index === 1 ? { ...head, leaves: 1 } : head));
  expect(tableLines(optional, rows, plain(20))).toEqual([
    'host       driver',
    'a          580.95.05',
    'long-name  -',
  ]);
});

test('the last column wraps below itself', () => {
  const words = [
    [{ texts: ['a'] as const }, { texts: ['-'] as const }, { texts: ['one two three'] as const }],
  ];
  expect(tableLines(heads, words, plain(21))).toEqual([
    'host  system  driver',
    'a     -       one two',
    '              three',
  ]);
});

test('colour does not change the layout', () => {
  const coloured = tableLines(
    [heads[0] ?? { heading: [''], yields: 0 }, ...heads.slice(1)],
    [[{ texts: ['a'], style: 'red' }, { texts: ['b'] }, { texts: [''] }]],
    {
      width: 80,
      paint: (style, text) => `<${String(style)}>${text}</>`,
    },
  );
  expect(coloured).toEqual(['<dim>host</>  <dim>system</>  <dim>driver</>', '<red>a</>     b']);
});

test('no line exceeds the width if the shortest texts fit', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 12 });
  const cell = word.map((long): Cell => ({ texts: [long, long.slice(0, 4), long.slice(0, 2)] }));
  const row = fc.tuple(cell, cell, cell, cell);
  const four = ['h', 'i', 'j', 'k'].map((heading, yields): Column => ({ heading: [heading], yields }));
  fc.assert(
    fc.property(fc.array(row, { maxLength: 5 }), fc.integer({ min: 14, max: 60 }), (cells, width) => {
      for (const line of tableLines(four, cells, plain(width)))
        expect(line.length).toBeLessThanOrEqual(width);
    }),
  );
});

test('columns without a heading', () => {
  expect(
    columns(
      [
        ['A', 'B'],
        ['xx', 'y'],
      ],
      80,
    ),
  ).toEqual(['A   B', 'xx  y']);
});

test('no word of a table is broken between 40 and 140 columns, and none is lost', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', '-'), minLength: 1, maxLength: 60 });
  const cell = fc
    .array(word, { minLength: 1, maxLength: 4 })
    .map((words): Cell => ({ texts: [words.join(' ')] }));
  const row = fc.tuple(
    word.map((name): Cell => ({ texts: [name] })),
    cell,
    cell,
  );
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 40, max: 140 }),
      (cells, width) => {
        const lines = tableLines(heads, cells, plain(width));
        for (const line of lines) if (line.length > width) expect(line.trim(), line).not.toContain(' ');
        const sorted = (words: readonly string[]) => words.filter((each) => /^[ab-]+$/.test(each)).toSorted();
        const given = cells.flatMap((each) => each.flatMap(({ texts }) => texts[0].split(' ')));
        expect(sorted(lines.flatMap((line) => line.split(/\s+/)))).toEqual(sorted(given));
      },
    ),
  );
});

test('wide names, combining marks and emoji are aligned by terminal columns', () => {
  const names = ['東京-01', 'e\u0301te\u0301', '👩‍🔬-box', 'gpu-1', '한국'];
  const lines = columns([['HOST', 'STATE'], ...names.map((name) => [name, 'well'])], 80);
  expect(lines).toEqual([
    'HOST     STATE',
    '東京-01  well',
    'e\u0301te\u0301      well',
    '👩‍🔬-box   well',
    'gpu-1    well',
    '한국     well',
  ]);
});

test('with wide names no line is wider than the terminal', () => {
  const name = fc.array(fc.constantFrom('東', 'é', 'e\u0301', '한', 'x', '-', '🙂'), {
    minLength: 1,
    maxLength: 12,
  });
  const row = fc.tuple(name, name, name).map((cells) => cells.map((parts) => parts.join('')));
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 26, max: 60 }),
      (cells, width) => {
        for (const line of columns([['A', 'B', 'C'], ...cells], width))
          expect(widthOf(line)).toBeLessThanOrEqual(width);
      },
    ),
  );
});

test('a cell is read a few times, however often the columns are shortened', () => {
  let reads = 0;
  const cell = (): Cell => ({
    get texts() {
      reads += 1;
      return ['a long text', 'a text', 'text'] as const;
    },
  });
  const many = Array.from({ length: 8 }, (_, index): Column => ({ heading: ['column'], yields: index }));
  const hosts = Array.from({ length: 100 }, () => many.map(cell));
  tableLines(many, hosts, plain(70));
  // Once for each of its texts, for their number, and for its line.
  expect(reads).toBeLessThanOrEqual(5 * many.length * hosts.length);
});
