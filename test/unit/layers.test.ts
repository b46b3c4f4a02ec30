import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

interface Import {
  readonly from: string;
  readonly to: string;
  /** False for an import of types alone, which is gone at run time. */
  readonly runs: boolean;
}

const files = globSync('{src,practice}/**/*.ts', { cwd: root });
const imports: readonly Import[] = files.flatMap((from) =>
  [
    ...readFileSync(join(root, from), 'utf8').matchAll(
      /(?:(import|export)( type)?\s[^'()]*?from |import\(|import )'(\.[^']+)'/g,
    ),
  ].map(([, , type, to = '']) => ({
    from,
    to: normalize(join(dirname(from), to)),
    runs: type === undefined,
  })),
);

/** The five folders, and which of the others each may import. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'src/cli': ['src/fleet', 'src/shared'],
  'src/fleet': ['src/shared'],
  'src/manager': ['src/shared'],
  'src/shared': [],
  practice: ['src/shared'],
};

/** The folders of src/fleet from the top down: each imports only folders of later rows, and those beside it never. */
const fleetOrder: readonly (readonly string[])[] = [
  ['doctor', 'upgrade', 'waiting'],
  ['status', 'bundle'],
  ['artifacts'],
  ['apply'],
  ['plan'],
  ['steps'],
  ['verdict'],
  ['facts', 'client'],
  ['ssh', 'packages'],
  ['inventory'],
  ['audit'],
];

const folderOf = (file: string): string =>
  Object.keys(allowed).find((name) => file.startsWith(`${name}/`)) ?? '';
const fleetRow = (file: string): number =>
  fleetOrder.findIndex((row) => row.includes(file.split('/')[2] ?? ''));

/** What lies on a circle or imports one: the rest after removing, again and again, files that import none of the rest. */
function circle(graph: Map<string, Set<string>>): string[] {
  let left = [...graph.keys()];
  for (let before = -1; before !== left.length;) {
    before = left.length;
    const kept = new Set(left);
    left = left.filter((name) => [...(graph.get(name) ?? [])].some((other) => kept.has(other)));
  }
  return left;
}

test('the imports are read', () => {
  expect(imports.length).toBeGreaterThan(files.length);
  expect(imports.filter(({ to }) => to.endsWith('.ts') && !files.includes(to))).toEqual([]);
  expect(
    circle(
      new Map([
        ['a', new Set(['b'])],
        ['b', new Set(['a'])],
        ['c', new Set(['a'])],
      ]),
    ),
  ).toEqual(['a', 'b', 'c']);
});

test('every file belongs to one of the five folders', () => {
  expect(files.filter((file) => folderOf(file) === '')).toEqual([]);
});

describe.each(Object.entries(allowed))('%s', (folder, others) => {
  test(`imports nothing beside itself and [${others.join(', ')}]`, () => {
    const wrong = imports.filter(
      ({ from, to }) => folderOf(from) === folder && ![folder, ...others].includes(folderOf(to)),
    );
    expect(wrong.filter(({ to }) => to.endsWith('.ts'))).toEqual([]);
  });
});

test('inside src/fleet imports go downwards only', () => {
  const inside = imports.filter(
    ({ from, to }) => folderOf(from) === 'src/fleet' && folderOf(to) === 'src/fleet',
  );
  expect(inside.filter(({ from }) => fleetRow(from) === -1)).toEqual([]);
  const sameFolder = ({ from, to }: Import): boolean => from.split('/')[2] === to.split('/')[2];
  expect(inside.filter((each) => !sameFolder(each) && fleetRow(each.to) <= fleetRow(each.from))).toEqual([]);
});

test('no files import each other in a circle', () => {
  const graph = new Map<string, Set<string>>();
  for (const { from, to } of imports) graph.set(from, (graph.get(from) ?? new Set()).add(to));
  expect(circle(graph)).toEqual([]);
});

test('nothing that a plan runs reaches a host, an engine or a server', () => {
  const seen = new Set(files.filter((file) => file.startsWith('src/fleet/plan/')));
  for (const from of seen) {
    for (const { to } of imports.filter((each) => each.runs && each.from === from)) seen.add(to);
  }
  const effects = /^src\/(?:fleet\/(?:apply|client|ssh)|shared\/(?:engine|azure))\//;
  expect([...seen].filter((file) => effects.test(file))).toEqual([]);
});
