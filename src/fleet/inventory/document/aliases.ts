import { isAlias, isMap, isScalar, isSeq, visit } from 'yaml';
import type { Document } from 'yaml';

/** An alias or merge that means nothing; the offset into the text. */
export interface BrokenAlias {
  readonly offset: number;
  readonly what: string;
  readonly expected?: string;
  readonly next: string;
}

/** Aliases of anchors that are not there, and merges (`<<`) of what has no keys. */
export function brokenAliases(document: Document.Parsed): BrokenAlias[] {
  const found: BrokenAlias[] = [];
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document)) return;
      const { source, range } = alias;
      found.push({
        offset: range?.[0] ?? 0,
        what: `*${source} stands for nothing`,
        next: `write &${source} where the value is written out, further up`,
      });
    },
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || typeof key.value !== 'symbol' || canMerge(document, value)) return;
      found.push({
        offset: key.range?.[0] ?? 0,
        what: '<< takes over keys, and here are none',
        expected: '*NAME of a value with keys, or a list of such',
        next: 'take it out',
      });
    },
  });
  return found;
}

/** An alias of nothing is told as that. */
function canMerge(document: Document.Parsed, value: unknown): boolean {
  const source = isAlias(value) ? value.resolve(document) : value;
  if (isSeq(source)) return source.items.every((item) => canMerge(document, item));
  return isMap(source) || (isAlias(value) && source === undefined);
}
