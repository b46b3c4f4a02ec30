import { isMap, isScalar, visit } from 'yaml';
import type { Document, Pair, Scalar } from 'yaml';

/** A key that stands twice in one map; offsets into the text. */
export interface Duplicate {
  readonly key: string;
  readonly first: number;
  readonly second: number;
}

/**
 * Finds keys that stand twice and joins what their maps hold, so that one such slip hides no other mistake. Keys are
 * compared as the names they become: `1` and `"1"` are one.
 */
export function joinDuplicates(document: Document.Parsed): Duplicate[] {
  const found: Duplicate[] = [];
  visit(document, {
    Map: (_, map) => {
      const pairs = new Map<string, Pair>();
      map.items = map.items.filter((pair) => {
        if (!isScalar(pair.key)) return true;
        const key = keyOf(pair.key);
        const twin = pairs.get(key);
        if (twin === undefined) {
          pairs.set(key, pair);
          return true;
        }
        if (isMap(twin.value) && isMap(pair.value)) twin.value.items.push(...pair.value.items);
        found.push({ key, first: offsetOf(twin), second: offsetOf(pair) });
        return false;
      });
    },
  });
  return found;
}

/** The key as typed; `<<` is no text to the parser. */
function keyOf({ value }: Scalar): string {
  return typeof value === 'symbol' ? (value.description ?? '') : String(value);
}

function offsetOf({ key }: Pair): number {
  return isScalar(key) ? (key.range?.[0] ?? 0) : 0;
}
