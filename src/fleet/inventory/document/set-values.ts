import { isMap, isScalar, isSeq, type Node, type Pair, parseDocument, type YAMLMap } from 'yaml';

/** Values to set, and keys to remove, in the map at a path of an inventory. */
export interface ValueEdit {
  readonly path: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  readonly unset: readonly string[];
}

/** A piece of the text and what replaces it. */
interface Splice {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/**
 * Returns the text of an inventory with other values. Everything else stays as it was typed: comments, order, quotes and spaces. Each
 * edit has its own map. Undefined: a map of a path is an alias or no map.
 */
export function setValues(source: string, edits: readonly ValueEdit[]): string | undefined {
  const root = parseDocument(source, { merge: true, uniqueKeys: false, logLevel: 'silent' }).contents;
  const splices: Splice[] = [];
  for (const edit of edits) {
    const found = isMap(root) ? splicesOf(source, root, edit) : undefined;
    if (found === undefined) return undefined;
    splices.push(...found);
  }
  // From the end, so that the places of the others stay true. Of two at one place, the text of the inner map comes first.
  return splices
    .toSorted((one, other) => other.from - one.from || other.to - one.to || indentOf(one) - indentOf(other))
    .reduce((text, { from, to, text: put }) => text.slice(0, from) + put + text.slice(to), source);
}

function splicesOf(
  source: string,
  map: YAMLMap,
  { path: [key, ...rest], set, unset }: ValueEdit,
): Splice[] | undefined {
  if (key === undefined) return inMap(source, map, set, unset);
  const pair = pairOf(map, key);
  const value = rest.reduceRight<string>((inner, name) => `{ ${name}: ${inner} }`, flowOf(set));
  if (pair === undefined) return addTo(source, map, `${key}: ${value}`);
  if (isMap(pair.value)) return splicesOf(source, pair.value, { path: rest, set, unset });
  if (pair.value !== null && !(isScalar(pair.value) && pair.value.value === null)) return undefined;
  const colon = source.indexOf(':', endOf(pair.key) ?? 0);
  const at = isScalar(pair.value) && (pair.value.source ?? '') !== '' ? rangeOf(pair.value) : undefined;
  return [{ from: at?.[0] ?? colon + 1, to: at?.[1] ?? colon + 1, text: at ? value : ` ${value}` }];
}

/** A key that goes is replaced by one that is new, so that a map never becomes empty in between. */
function inMap(
  source: string,
  map: YAMLMap,
  set: ValueEdit['set'],
  unset: readonly string[],
): Splice[] | undefined {
  const fresh = Object.entries(set).filter(([key]) => pairOf(map, key) === undefined);
  const gone = unset.flatMap((key) => pairOf(map, key) ?? []);
  const splices: Splice[] = [];
  for (const [key, value] of Object.entries(set)) {
    const pair = pairOf(map, key);
    if (pair === undefined) continue;
    if (!isScalar(pair.value) || pair.value.source === undefined) return undefined;
    const [from, to] = rangeOf(pair.value);
    splices.push({ from, to, text: quoted(value) });
  }
  for (const pair of gone) {
    const next = fresh.shift();
    if (next === undefined) splices.push(cut(source, map, pair));
    else splices.push({ ...pairRange(pair), text: `${next[0]}: ${quoted(next[1])}` });
  }
  const added = fresh.map(([key, value]) => `${key}: ${quoted(value)}`);
  if (added.length === 0) return splices;
  return [...splices, ...addTo(source, map, added.join(map.flow === true ? ', ' : '\n'))];
}

/** Adds lines to a map: in braces at their end, otherwise below its last line. */
function addTo(source: string, map: YAMLMap, text: string): Splice[] {
  const pairs = map.items as Pair<Node, Node | null>[];
  const [first, last] = [pairs[0], pairs.at(-1)];
  if (first === undefined || last === undefined) {
    const [from, to] = rangeOf(map);
    return [{ from, to, text: `{ ${text} }` }];
  }
  const end = pairRange(last).to;
  if (map.flow === true) return [{ from: end, to: end, text: `, ${text}` }];
  const [start] = rangeOf(first.key);
  const indent = ' '.repeat(start - (source.lastIndexOf('\n', start - 1) + 1));
  const line = source.includes('\r\n') ? '\r\n' : '\n';
  const lines = text.split('\n').map((each) => `${indent}${each}`);
  const breaks = source.indexOf('\n', end);
  if (breaks === -1) return [{ from: source.length, to: source.length, text: `${line}${lines.join(line)}` }];
  return [{ from: breaks + 1, to: breaks + 1, text: `${lines.join(line)}${line}` }];
}

/** Removes a pair: in braces with its comma, otherwise with its line, unless the line has a comment. */
function cut(source: string, map: YAMLMap, pair: Pair<Node, Node | null>): Splice {
  const { from, to } = pairRange(pair);
  const pairs = map.items as Pair<Node, Node | null>[];
  const at = pairs.indexOf(pair);
  if (map.flow === true) {
    const [before, after] = [pairs[at - 1], pairs[at + 1]];
    if (before !== undefined) return { from: pairRange(before).to, to, text: '' };
    return { from, to: after === undefined ? to : rangeOf(after.key)[0], text: '' };
  }
  const begins = source.lastIndexOf('\n', from - 1) + 1;
  const breaks = source.indexOf('\n', to);
  const ends = breaks === -1 ? source.length : breaks + 1;
  const isWhole = `${source.slice(begins, from)}${source.slice(to, ends)}`.trim() === '';
  return isWhole ? { from: begins, to: ends, text: '' } : { from, to, text: '' };
}

function pairOf(map: YAMLMap, key: string): Pair<Node, Node | null> | undefined {
  return map.items.find((pair) => isScalar(pair.key) && String(pair.key.value) === key) as
    | Pair<Node, Node | null>
    | undefined;
}

function pairRange({ key, value }: Pair<Node, Node | null>): { readonly from: number; readonly to: number } {
  const [from, to] = rangeOf(key);
  return { from, to: Math.max(to, (value === null ? undefined : endOf(value)) ?? to) };
}

/** Returns the end of a value's text, without what follows it on the line. */
function endOf(node: Node): number | undefined {
  if ((isMap(node) || isSeq(node)) && node.flow !== true && node.items.length > 0) {
    const last = node.items.at(-1) as Node | Pair<Node, Node | null>;
    return 'key' in last ? pairRange(last).to : endOf(last);
  }
  const [, end] = rangeOf(node);
  // The text of a block (`|`) ends behind its last line.
  return isScalar(node) && node.type?.startsWith('BLOCK') === true ? end - 1 : end;
}

function rangeOf(node: unknown): readonly [number, number] {
  const { range } = node as { readonly range?: readonly [number, number, number] | null };
  if (range === undefined || range === null) throw new TypeError('a value without a place');
  return [range[0], range[1]];
}

function indentOf({ text }: Splice): number {
  return text.length - text.trimStart().length;
}

function flowOf(set: ValueEdit['set']): string {
  const pairs = Object.entries(set).map(([key, value]) => `${key}: ${quoted(value)}`);
  return `{ ${pairs.join(', ')} }`;
}

function quoted(value: string): string {
  return JSON.stringify(value);
}
