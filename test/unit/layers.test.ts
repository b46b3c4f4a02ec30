import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

interface Import {
  readonly from: string;
  readonly to: string;
  /** It is still there when the types are gone. */
  readonly runs: boolean;
}

const files = globSync('src/**/*.ts', { cwd: root });
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
const folders = [...new Set(files.flatMap(ancestors))].toSorted();

/** ARCHITECTURE.md's tables from the top down: a folder of src, and its siblings that it imports. */
const rows = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, folder, , named = ''] = line.match(/^\| `([a-z/-]+)` \|([^|]*)\|([^|]*)\|$/) ?? [];
    const siblings: readonly string[] = named.match(/[a-z-]+/g) ?? [];
    return folder === undefined ? [] : [{ folder: `src/${folder}`, siblings }];
  });
const order = rows.map(({ folder }) => folder);

/** `src/a/b/c.ts` → `src`, `src/a`, `src/a/b`. */
function ancestors(file: string): string[] {
  const parts = dirname(file).split('/');
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}

/** The file or folder directly in `folder` that a path belongs to. */
function childOf(folder: string, path: string): string | undefined {
  return path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split('/')[0] : undefined;
}

/** What each thing in a folder imports of the things beside it. */
function neighbours(folder: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const { from, to } of imports) {
    const [a, b] = [childOf(folder, from), childOf(folder, to)];
    if (a === undefined || b === undefined || a === b) continue;
    found.set(a, (found.get(a) ?? new Set()).add(b));
  }
  return found;
}

/** The things that are on a circle, or stand above one: what is left when all that stands on nothing is taken away. */
function circle(graph: Map<string, Set<string>>): string[] {
  let left = [...graph.keys()];
  for (let before = -1; before !== left.length;) {
    before = left.length;
    left = left.filter((name) => [...(graph.get(name) ?? [])].some((other) => left.includes(other)));
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

test('the tables name all folders of src', () => {
  expect(order.toSorted()).toEqual(folders.filter((folder) => folder !== 'src'));
});

describe.each(rows)('$folder', ({ folder, siblings }) => {
  test('imports what ARCHITECTURE.md says, and all of it', () => {
    const found = neighbours(dirname(folder)).get(basename(folder)) ?? new Set();
    expect([...found].filter((name) => !name.endsWith('.ts')).toSorted()).toEqual(siblings.toSorted());
  });

  test('imports downwards only', () => {
    const below = siblings.map((name) => order.indexOf(`${dirname(folder)}/${name}`));
    expect(below.filter((at) => at <= order.indexOf(folder))).toEqual([]);
  });
});

describe.each(folders)('%s', (folder) => {
  test('holds no circle', () => {
    expect(circle(neighbours(folder))).toEqual([]);
  });

  test('holds at most 20 files directly', () => {
    expect(files.filter((file) => dirname(file) === folder).length).toBeLessThanOrEqual(20);
  });
});

test('tests lie where their sources lie', () => {
  const rooms = new Set(['lab', 'bench', ...folders.map((folder) => folder.slice('src/'.length))]);
  const tests = globSync('test/unit/*/**/*.ts', { cwd: root }).map((file) => dirname(file).slice(10));
  expect([...new Set(tests)].filter((folder) => !rooms.has(folder))).toEqual([]);
});

test('nothing that a plan runs reaches a host, an engine or a server', () => {
  const seen = new Set(files.filter((file) => file.startsWith('src/plan/')));
  for (const from of seen) {
    for (const { to } of imports.filter((each) => each.runs && each.from === from)) seen.add(to);
  }
  const outside = [...seen].filter((file) => /^src\/(?:apply|client|ssh|engine|azure)\//.test(file));
  expect(outside).toEqual([]);
});
