import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** ARCHITECTURE.md's table of layers from the top down: a folder of src, and the folders that it imports. */
const layers = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, folder, , imports = ''] = line.match(/^\| `([a-z]+)` \|([^|]*)\|([^|]*)\|$/) ?? [];
    const named: readonly string[] = imports.match(/[a-z]+/g) ?? [];
    return folder === undefined ? [] : [{ folder, imports: named }];
  });
const order = layers.map(({ folder }) => folder);

/** The folders that the code of one folder imports, the type of a thing and what is loaded late included. */
function importsOf(folder: string): string[] {
  const found = globSync(`src/${folder}/**/*.ts`, { cwd: root }).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8');
    const depth = file.split('/').length - 2;
    return [...text.matchAll(/(?:from |import |import\()'((?:\.\.\/)+)([a-z]+)\//g)]
      .filter(([, up = '']) => up.length / 3 === depth)
      .map(([, , other = '']) => other);
  });
  return order.filter((other) => other !== folder && found.includes(other));
}

test('the layers are all folders of src', () => {
  expect(order.toSorted()).toEqual(
    globSync('src/*', { cwd: root })
      .map((path) => path.slice(4))
      .toSorted(),
  );
});

describe.each(layers)('$folder', ({ folder, imports }) => {
  test('imports what ARCHITECTURE.md says, and all of it', () => {
    expect(importsOf(folder)).toEqual(order.filter((other) => imports.includes(other)));
  });

  test('imports downwards only', () => {
    expect(imports.filter((other) => order.indexOf(other) <= order.indexOf(folder))).toEqual([]);
  });
});
