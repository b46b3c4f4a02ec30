import fc from 'fast-check';

/** Deeper than recursion can go. */
const bomb = 200_000;

/** Arbitrary JSON texts: values of every kind, some of them deep. */
export const anyJson: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.json({ maxDepth: 4 }), weight: 8 },
  fc.constantFrom(
    '['.repeat(bomb) + ']'.repeat(bomb),
    '{"a":'.repeat(bomb) + '1' + '}'.repeat(bomb),
    '1e999',
    '-1',
    '"2026-99-99"',
    '{"toString":1}',
    '{"__proto__":null,"constructor":{"prototype":1}}',
    '[null]',
    '',
  ),
);

const mark = '\u0001here\u0001';

/** Texts of a value in which one part is replaced or added. */
export function damagedJson(whole: unknown): fc.Arbitrary<string> {
  return fc
    .tuple(fc.constantFrom(...pathsOf(whole)), fc.boolean(), anyJson)
    .map(([path, more, text]) =>
      JSON.stringify(marked(whole, path, more)).replace(JSON.stringify(mark), () => text || 'null'),
    );
}

type Path = readonly (string | number)[];

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const items: [string, unknown][] = Object.entries(value);
  return [path, ...items.flatMap(([key, item]) => pathsOf(item, [...path, key]))];
}

function marked(value: unknown, [key, ...rest]: Path, more: boolean): unknown {
  if (typeof value !== 'object' || value === null) return mark;
  if (key === undefined) {
    if (!more) return mark;
    return Array.isArray(value) ? [...(value as unknown[]), mark] : { ...value, more: mark };
  }
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (String(index) === key ? marked(item, rest, more) : item));
  return { ...value, [key]: marked((value as Record<string, unknown>)[key], rest, more) };
}
