import { X509Certificate } from 'node:crypto';

import { foreignLine } from '../../shared/base/foreign-text.ts';
import { isObject } from '../../shared/base/objects.ts';
import { compareVersions } from '../../shared/image/choose.ts';
import type { Facts } from '../facts/facts.ts';
import type { Description, Detail, TextDiff } from './change.ts';
import { lineDiff } from './line-diff.ts';

/** Characters of a value; a longer one is cut. */
const longestValue = 200;
/** Lines of one change; the rest is a count. */
const mostDetails = 150;
/** Lines of one file, and characters of one line, that a plan keeps. */
const mostLines = 2000;
const longestLine = 500;
/** Objects below this depth are not compared. */
const deepest = 10;
/** Certificates read from one file; a site has a few. */
const mostCertificates = 50;

/** A changed key with its old and new value as text; undefined: the key is added or removed. */
export interface Item {
  /** Where the key is in the schema: `slots.*.limits.cpus`. */
  readonly key: string;
  /** Its name in a plan: `slot big limits.cpus`. */
  readonly label: string;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** The consequence: `agents take turns on GPUs`. */
  readonly effect?: string | undefined;
}

/** How a plan shows one key. Keys without an entry are shown under their own name. */
interface KeyText {
  /** `*` in it becomes the member's name. */
  readonly label?: string;
  /** Formats the value. An object with it is shown as a whole where one side lacks it or the `kind` differs. */
  readonly text?: (value: never) => string;
  /** The consequence of any new value, or by the new value: `''` where the key is removed, `*` for all others. */
  readonly effect?:
    | string
    | Readonly<Record<string, string>>
    | ((from: string | undefined, to: string | undefined) => string | undefined);
}

/** By the key's path. `datasets.*` matches each member of `datasets`; a list is then compared by `name` or index. */
export type KeyTexts = Readonly<Record<string, KeyText>>;

interface Place {
  readonly key: string;
  readonly label: string;
  readonly depth: number;
}

/** Compares two values key by key, in the order of the new one. */
export function compare(
  from: unknown,
  to: unknown,
  keys: KeyTexts = {},
  place: Place = { key: '', label: '', depth: 0 },
): readonly Item[] {
  const keyText = textOf(keys, place.key);
  const sides = [from, to].filter((side) => side !== undefined);
  const named = Object.hasOwn(keys, `${place.key}.*`);
  const [old, now] = [membersOf(from, named), membersOf(to, named)];
  const names = [...new Set([...(now?.keys() ?? []), ...(old?.keys() ?? [])])];
  const isWhole = keyText?.text !== undefined && (sides.length < 2 || old?.get('kind') !== now?.get('kind'));
  const hasMembers = sides.length === [old, now].filter((side) => side !== undefined).length;
  if (!isWhole && hasMembers && place.depth < deepest && (names.length > 0 || place.key === ''))
    return names.flatMap((name) =>
      compare(old?.get(name), now?.get(name), keys, memberOf(place, name, named, keys)),
    );
  const show = keyText?.text ?? (place.depth < deepest ? plainText : () => '…');
  const [before, after] = [from, to].map((side) => (side === undefined ? undefined : show(side as never)));
  return item(place.label, before, after, effectOf(keyText?.effect, before, after), place.key);
}

/** Returns a key's own entry: keys come from files of other programs and may be `constructor`. */
function textOf(keys: KeyTexts, key: string): KeyText | undefined {
  return Object.hasOwn(keys, key) ? keys[key] : undefined;
}

function membersOf(value: unknown, named: boolean): ReadonlyMap<string, unknown> | undefined {
  if (isObject(value)) return new Map(Object.entries(value));
  if (!named || !Array.isArray(value)) return undefined;
  return new Map(
    value.map((each, at) => {
      const name = isObject(each) ? each['name'] : undefined;
      return [typeof name === 'string' ? name : String(at), each];
    }),
  );
}

function memberOf({ key, label, depth }: Place, name: string, named: boolean, keys: KeyTexts): Place {
  const member = named ? '*' : name;
  const path = key === '' ? member : `${key}.${member}`;
  const between = label === '' ? '' : key.endsWith('*') ? ' ' : '.';
  const own = textOf(keys, path)?.label?.replace('*', () => name);
  return { key: path, label: own ?? `${label}${between}${name}`, depth: depth + 1 };
}

function plainText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function effectOf(
  effect: KeyText['effect'],
  from: string | undefined,
  to: string | undefined,
): string | undefined {
  if (typeof effect === 'function') return effect(from, to);
  if (typeof effect === 'string') return to === undefined ? undefined : effect;
  return effect?.[to ?? ''] ?? (to === undefined ? undefined : effect?.['*']);
}

/** Returns one key with both values; nothing where they are equal. */
export function item(
  label: string,
  from: string | undefined,
  to: string | undefined,
  effect?: string,
  key = label,
): readonly Item[] {
  return from === to ? [] : [{ key, label, from, to, effect }];
}

/** Returns the lines of a plan: `agents: 2 → 4`, or `limits.memory: 64g` for a key that is added or removed. */
export function details(items: readonly Item[]): readonly Detail[] {
  return items.map(({ label, from, to, effect }): Detail => {
    const values = [from, to].filter((value) => value !== undefined).map(shown);
    return {
      marker: from === undefined ? 'add' : to === undefined ? 'remove' : 'change',
      text: `${shown(label)}: ${values.join(' → ')}`,
      ...(effect === undefined ? {} : { effect }),
    };
  });
}

function shown(value: string): string {
  return value === '' ? '""' : foreignLine(value, longestValue);
}

/** Limits the lines of a change and adds how many are left out. */
export function bounded(lines: readonly Detail[]): readonly Detail[] {
  if (lines.length <= mostDetails) return lines;
  const left = lines.length - mostDetails;
  return [...lines.slice(0, mostDetails), { marker: 'change', text: `and ${left} more` }];
}

/** Returns `a, b, c`; of a long list the first names and how many more. */
export function listed(names: readonly unknown[], most = 64): string {
  const more = names.length > most ? [`and ${names.length - most} more`] : [];
  return [...names.slice(0, most).map(String), ...more].join(', ');
}

/** Returns whether `to` is an older version than `from`; false where one of them is not numeric. */
export function isDowngrade(from: string | undefined, to: string): boolean {
  const numbers = /^\d+(\.\d+)*$/;
  return from !== undefined && numbers.test(from) && numbers.test(to) && compareVersions(to, from) < 0;
}

/** A file that a change writes. */
export interface Written {
  readonly path: string;
  /** Its present text; undefined: absent, not text, or too long. */
  readonly before: string | undefined;
  readonly exists: boolean;
  readonly after: string;
}

export function written(facts: Facts, path: string, after: string): Written {
  return { path, before: facts.texts[path], exists: facts.files[path] !== undefined, after };
}

/** Describes a file: a new one by its text, a changed one key by key (`Key: value`, `Key=value` or JSON). Pure. */
export function describeFile(file: Written): Pick<Description, 'marker' | 'details' | 'texts'> {
  const texts = [textDiff(file)];
  if (!file.exists) return { marker: 'add', texts };
  return { marker: 'change', details: fieldDetails(file), texts };
}

/** Describes dockerd's configuration key by key, also where the file is new. */
export function describeDaemonJson(before: string | undefined, after: string): Description {
  const path = '/etc/docker/daemon.json';
  const file = describeFile({ path, before, exists: before !== undefined, after });
  return { ...file, details: fieldDetails({ before: before ?? '{}', after }) };
}

/** Returns what `--diff` shows of a file. */
export function textDiff({ path, before, exists, after }: Written): TextDiff {
  if (exists && before === undefined)
    return { path, lines: ['the present content is too long or not text; the whole file is replaced'] };
  const [old, now] = [withoutSecrets(before ?? ''), withoutSecrets(after)];
  if (old === now && before !== after)
    return { path, lines: ['the lines that differ may hold secrets and are not shown'] };
  const lines = lineDiff(old, now).map((line) => line.slice(0, 1) + foreignLine(line.slice(1), longestLine));
  const left = lines.length - mostLines;
  return { path, lines: left > 0 ? [...lines.slice(0, mostLines), `and ${left} more lines`] : lines };
}

/** Compares two texts key by key; nothing where the present text is unknown. */
export function fieldDetails({ before, after }: Pick<Written, 'before' | 'after'>): readonly Detail[] {
  if (before === undefined) return [];
  return bounded(details(compare(fieldsOf(withoutSecrets(before)), fieldsOf(withoutSecrets(after)))));
}

/** Reads JSON, or `Key: value` and `Key=value` lines below their `[Section]`. */
function fieldsOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : { '': value };
  } catch {
    return lineFields(text);
  }
}

function lineFields(text: string): Readonly<Record<string, string>> {
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
  return Object.fromEntries(fields);
}

/** The end of a key that holds a secret: `http-password`, `GITHUB_TOKEN`. */
const secretKey = String.raw`[\w.-]{0,64}(?:password|passwd|passphrase|secret|token|api[-_]?key|private[-_]?key)`;

const secrets: readonly (readonly [RegExp, string])[] = [
  // http://user:password@proxy
  [/(?<=\b[a-z][\w+.-]{0,32}:\/\/)[^\s/@"']+(?=@)/gi, '***'],
  [/(-----BEGIN [A-Z ]*PRIVATE KEY-----)[^]*?(?=-----END|$)/g, '$1\n***\n'],
  // "token": "…"
  [new RegExp(String.raw`("${secretKey}"\s*:\s*)"(?:[^"\\]|\\.)*"`, 'gi'), '$1"***"'],
  // TOKEN=…, also within Environment="TOKEN=…"
  [new RegExp(String.raw`(^|[\s"'])(${secretKey}\s*=\s*)[^\s"']+`, 'gim'), '$1$2***'],
];

/**
 * Replaces possible secrets with `***`: users in addresses, private keys, values of keys such as `token`. azp-fleet writes no
 * secrets into these files; their owners may have.
 */
export function withoutSecrets(text: string): string {
  return secrets.reduce((clean, [place, instead]) => clean.replaceAll(place, instead), text);
}

/** Describes the certificate authorities of a file before and after; nothing where the present text is unknown. */
export function certificateDetails(facts: Facts, path: string, pem: string): readonly Detail[] {
  const exists = facts.files[path] !== undefined;
  const before = facts.texts[path];
  if (exists && before === undefined) return [];
  const found = details(item('certificate authority', before && authorities(before), authorities(pem)));
  return found.length > 0 || before === pem
    ? found
    : [{ marker: 'change', text: 'certificate authority: same names' }];
}

/** Returns `Lab CA until 2031-01-01` for each certificate. */
function authorities(pem: string): string {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return listed(blocks.slice(0, mostCertificates).map(authority), 5);
}

function authority(block: string): string {
  try {
    const { subject, validToDate } = new X509Certificate(block);
    const name = /^(?:CN|O)=(.*)$/m.exec(subject.split('\n').toReversed().join('\n'))?.[1] ?? 'no name';
    return `${name} until ${validToDate.toISOString().slice(0, 10)}`;
  } catch {
    return 'unreadable certificate';
  }
}
