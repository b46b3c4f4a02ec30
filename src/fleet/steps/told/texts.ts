import { foreignLine } from '../../../shared/base/foreign-text.ts';
import { lineDiff } from './line-diff.ts';
import { withoutSecrets } from './without-secrets.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Detail, TextDiff, Told } from '../change.ts';
import { bounded, item, itemDetail, itemsByName, type Item } from './items.ts';

/** A file that a change writes. */
export interface Written {
  readonly path: string;
  /** What stands in it now; undefined: there is none, or it is no text, or too long. */
  readonly before: string | undefined;
  /** There is one. */
  readonly exists: boolean;
  readonly after: string;
}

/** Lines of one file, and characters of one line, that a plan keeps. */
const mostLines = 2000;
const longestLine = 500;
/** How deep objects are told. */
const deepest = 10;

export function written(facts: Facts, path: string, after: string): Written {
  return { path, before: facts.texts[path], exists: facts.files[path] !== undefined, after };
}

/** A file that comes, or one that becomes another key by key: `Key: value`, `Key=value` or JSON. Pure. */
export function toldText(file: Written): Pick<Told, 'marker' | 'details' | 'texts'> {
  const texts = [textDiff(file)];
  if (!file.exists) return { marker: 'add', texts };
  return { marker: 'change', details: fieldDetails(file), texts };
}

/** What `--diff` shows of a file. */
export function textDiff({ path, before, exists, after }: Written): TextDiff {
  if (exists && before === undefined)
    return { path, lines: ['what it says now is too long, or no text: it is replaced as a whole'] };
  const [old, now] = [withoutSecrets(before ?? ''), withoutSecrets(after)];
  if (old === now && before !== after)
    return { path, lines: ['what differs is not shown: it may be secret'] };
  const lines = lineDiff(old, now).map((line) => line.slice(0, 1) + foreignLine(line.slice(1), longestLine));
  const left = lines.length - mostLines;
  return { path, lines: left > 0 ? [...lines.slice(0, mostLines), `and ${left} more lines`] : lines };
}

/** Key by key; nothing where the text now is not known. */
export function fieldDetails({ before, after }: Pick<Written, 'before' | 'after'>): readonly Detail[] {
  if (before === undefined) return [];
  const fields = itemsByName(fieldsOf(withoutSecrets(before)), fieldsOf(withoutSecrets(after)), fieldItems);
  return bounded(fields.map(itemDetail));
}

function fieldItems(key: string, old: string | undefined, now: string | undefined): readonly Item[] {
  return item(key, old, now);
}

/** By name, those of sections and objects with theirs before: `Service.Restart`, `log-opts.max-size`. */
function fieldsOf(text: string): ReadonlyMap<string, string> {
  try {
    return new Map(leaves('', JSON.parse(text), deepest));
  } catch {
    return lineFields(text);
  }
}

function leaves(path: string, value: unknown, depth: number): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [[path, JSON.stringify(value)]];
  const entries = Object.entries(value);
  if (entries.length === 0) return path === '' ? [] : [[path, '{}']];
  if (depth === 0) return [[path, '…']];
  return entries.flatMap(([key, each]) => leaves(path === '' ? key : `${path}.${key}`, each, depth - 1));
}

function lineFields(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let section = '';
  for (const line of text.split('\n')) {
    const [, name] = line.match(/^\[([^\]]{1,100})\]\s*$/) ?? [];
    if (name !== undefined) section = `${name}.`;
    const [, key, value] = line.match(/^([A-Za-z][\w-]{0,100})\s{0,9}[:=]\s{0,9}(.*)$/) ?? [];
    if (key === undefined || value === undefined) continue;
    const before = fields.get(section + key);
    fields.set(section + key, before === undefined ? value : `${before}; ${value}`);
  }
  return fields;
}
