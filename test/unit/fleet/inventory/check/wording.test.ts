import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { expect, test } from 'vitest';

import { mistakesIn } from '../fixture.ts';

const file = new URL('../../../../../inventory.example.yaml', import.meta.url);
const example: unknown = parse(readFileSync(file, 'utf8'));

/** Values of a wrong type. */
const misfits = [[], ['x'], {}, { x: {} }, 'x y', '8', '', 5, -1, 1.5, true, null];

test('a wrong value anywhere in the example gets a message without terms of the schema library', () => {
  const wordings = [0, 1, 2, 3, 4, 5].flatMap((depth) =>
    misfits.flatMap((misfit) => mistakesIn(JSON.stringify(replaced(example, depth, misfit)))),
  );
  expect(wordings.length).toBeGreaterThan(500);
  const jargon = /Invalid|expected: [^\n]*\b(record|object|array|string|int|never|nullable|regex)\b/;
  expect([...new Set(wordings.filter((text) => jargon.test(text)))]).toEqual([]);
});

/** Returns the value with everything at this depth replaced by the misfit. */
function replaced(value: unknown, depth: number, misfit: unknown): unknown {
  if (depth === 0) return misfit;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => replaced(item, depth - 1, misfit));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, replaced(item, depth - 1, misfit)]),
  );
}
