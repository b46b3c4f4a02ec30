import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';

import type { InLab } from '../../../../scripts/matrix-table.ts';

const root = join(import.meta.dirname, '../../../..');

/** Checks that the test exists once. A note says "refused" exactly if the test's title does. */
export function expectSeenInLab({ lab: [file, title], note }: InLab): void {
  const found = titles(file).filter((each) => each.startsWith(title));
  expect(found, `${file}: ${title}`).toHaveLength(1);
  expect(note?.startsWith('refused') === true, found[0]).toBe(/\brefused\b/.test(found[0] ?? ''));
}

/** Returns the titles of all tests of a file. */
function titles(file: string): string[] {
  const text = readFileSync(join(root, 'test/lab', file), 'utf8');
  return [...text.matchAll(/^ *test\(\s*(?:'((?:[^'\\]|\\.)*)'|"([^"]*)"|`([^`]*)`)/gm)].map(
    ([, ...found]) => found.find((each) => each !== undefined) ?? '',
  );
}
