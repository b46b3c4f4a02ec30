import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  visit,
} from 'yaml';

import { defined } from '../../../shared/base/objects.ts';
import type { Problem } from '../../../shared/base/errors.ts';
import { excerpt } from '../../../shared/base/foreign-text.ts';
import { namesInShort } from '../fold-names.ts';
import { firstYamlError, type YamlError } from './yaml-errors.ts';

/** Maximum uses of one anchor, counted through nested aliases: several for each host of a large fleet. */
const mostAliases = 50_000;

/** An inventory as text with positions: values for the schema, lines and columns for the messages. */
export class InventoryDocument {
  readonly problems: Problem[] = [];
  /** False if the text is not YAML: then only `problems` can be used. */
  readonly readable: boolean;
  readonly #document: Document.Parsed;
  readonly #aliases: Aliases;
  readonly #lines = new LineCounter();
  readonly #source: string;
  readonly #name: string;
  /** Scalars that contain a variable, with their text as typed; the expanded text may be a number. */
  readonly #expanded = new Map<Node, string>();
  readonly #unset = new Set<Node>();

  constructor(source: string, name: string) {
    this.#source = source;
    this.#name = name;
    const options = {
      lineCounter: this.#lines,
      merge: true,
      prettyErrors: false,
      uniqueKeys: false,
      logLevel: 'error',
    } as const;
    this.#document = parseDocument(source, options);
    const error = firstYamlError(source, [...this.#document.errors, ...this.#document.warnings]);
    this.#aliases = aliasesOf(this.#document);
    const broken = error ? [] : brokenAliases(this.#document, this.#aliases);
    this.readable = error === undefined && broken.length === 0;
    if (error) this.problems.push(this.#malformed(error));
    else for (const each of joinDuplicates(this.#document)) this.problems.push(this.#duplicate(each));
    for (const { offset, what, ...rest } of broken)
      this.problems.push({
        code: 'inventory.alias',
        step: 'inventory',
        what: `${this.#place(offset)}: ${what}`,
        ...rest,
      });
  }

  #malformed({ offset, message, snippet }: YamlError): Problem {
    return {
      code: 'inventory.yaml',
      step: 'inventory',
      what: `${this.#place(offset)}: ${message}`,
      ...defined({ seen: snippet }),
      next: 'correct the YAML here or in the lines above; quote text with special characters',
    };
  }

  #duplicate({ key, first, second }: Duplicate): Problem {
    return {
      code: 'inventory.duplicate-key',
      step: 'inventory',
      what: `${this.#place(second)}: duplicate key ${excerpt(key)}`,
      seen: `first defined at ${this.#place(first)}`,
      next: 'merge both into one',
    };
  }

  /** Replaces environment variables, in values only. */
  expandVariables(env: Readonly<Record<string, string | undefined>>): void {
    const unsetAt = new Map<string, readonly number[]>();
    visit(this.#document, {
      Scalar: (key, node) => {
        if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
        const { value, unset } = expand(node.value, env);
        for (const [index, { variable }] of unset.entries()) {
          const places = unsetAt.get(variable) ?? [];
          unsetAt.set(variable, [...places, this.#offsetOf(node, variable, index)]);
        }
        if (unset.length > 0) this.#unset.add(node);
        this.#expanded.set(node, node.value);
        node.value = value;
      },
    });
    for (const [variable, offsets] of unsetAt) this.#reportUnset(variable, offsets);
  }

  /** Returns plain data; undefined, with a problem, if aliases expand to too much data. */
  toValue(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: mostAliases }) ?? {};
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
      this.problems.push({
        code: 'inventory.yaml',
        step: 'inventory',
        what: `${this.#name}: nested aliases (*NAME) expand to too much data`,
        expected: `at most ${mostAliases} aliases`,
        next: 'write out the values instead of using *NAME',
      });
      return undefined;
    }
  }

  /** Returns every text value with its place, without keys. */
  *texts(): Iterable<{ readonly text: string; readonly place: string }> {
    const found: { text: string; place: string }[] = [];
    visit(this.#document, {
      Scalar: (key, node) => {
        if (key !== 'key' && typeof node.value === 'string')
          found.push({ text: node.value, place: this.#place(node.range?.[0] ?? 0) });
      },
    });
    yield* found;
  }

  /** Gives an expanded text at this path the type of its value. Returns whether it changed. */
  retype(path: Path): boolean {
    const node = this.#find(path)?.value;
    if (!isScalar(node) || !this.#expanded.has(node) || typeof node.value !== 'string') return false;
    const value: unknown = parseDocument(node.value).toJS();
    if (typeof value !== 'number' && typeof value !== 'boolean') return false;
    node.value = value;
    return true;
  }

  /** Returns `FILE:LINE:COLUMN` of the value at the path, or of its nearest existing ancestor. */
  place(path: Path, part: 'key' | 'value' = 'value'): string {
    for (let length = path.length; length > 0; length -= 1) {
      const found = this.#find(path.slice(0, length));
      const node = length === path.length && part === 'value' ? (found?.value ?? found?.key) : found?.key;
      const offset = (node ?? found?.value)?.range?.[0];
      if (offset !== undefined) return this.#place(offset);
    }
    return this.#place(this.#document.contents?.range[0] ?? 0);
  }

  /** Returns whether exactly this path exists. */
  has(path: Path): boolean {
    return this.#find(path) !== undefined;
  }

  /** Returns whether the value at the path uses an unset variable, which has been reported. */
  isUnset(path: Path): boolean {
    const node = this.#find(path)?.value;
    return node !== undefined && this.#unset.has(node);
  }

  /**
   * Returns a scalar as typed: `580.10`, not 580.1; `${PORT}`, not the value of the variable, which may be a secret.
   */
  written(path: Path): string | undefined {
    const node = this.#find(path)?.value;
    if (!isScalar(node)) return undefined;
    return this.#expanded.get(node) ?? (typeof node.value === 'number' ? node.source : String(node.value));
  }

  #find(path: Path): { readonly key?: Node; readonly value?: Node } | undefined {
    let key: Node | undefined;
    let value: Node | undefined = this.#document.contents ?? undefined;
    for (const part of path) {
      const parent: Node | undefined = isAlias(value) ? this.#aliases.get(value) : value;
      if (isMap(parent)) {
        const pair = parent.items.find(
          (item) => isScalar(item.key) && String(item.key.value) === String(part),
        ) as Pair<Node, Node | null> | undefined;
        if (pair === undefined) return undefined;
        key = pair.key;
        value = pair.value ?? undefined;
      } else if (isSeq(parent)) {
        key = undefined;
        value = parent.items[Number(part)] as Node | undefined;
        if (value === undefined) return undefined;
      } else return undefined;
    }
    return { ...(key ? { key } : {}), ...(value ? { value } : {}) };
  }

  #offsetOf(node: Scalar, variable: string, index: number): number {
    const start = node.range?.[0] ?? 0;
    let offset = start;
    for (let seen = 0, from = start; seen <= index; seen += 1) {
      offset = this.#source.indexOf(variable === '' ? '${' : `\${${variable}}`, from);
      if (seen < index && this.#source.indexOf(variable === '' ? '${' : `\${${variable}}`, offset + 1) === -1)
        break;
      from = offset + 1;
    }
    return offset;
  }

  /** Reports an unset variable once, with the lines of its other places. */
  #reportUnset(variable: string, [first = 0, ...more]: readonly number[]): void {
    const own = this.#lines.linePos(first).line;
    const lines = more.map((offset) => this.#lines.linePos(offset).line).filter((line) => line !== own);
    const others = [...new Set(lines)].map((line) => `line ${line}`);
    const what = `${variable === '' ? '"${" does not start a variable' : `the environment variable ${variable} is not set`}${alsoAt(others)}`;
    this.problems.push({
      code: 'inventory.variable',
      step: 'inventory',
      what: `${this.#place(first)}: ${what}`,
      ...(variable === ''
        ? { expected: '${NAME} or ${NAME:-default}', next: 'write $${ where a literal ${ is meant' }
        : { next: `export ${variable}=…, or give a default: \${${variable}:-value}` }),
    });
  }

  #place(offset: number): string {
    const { line, col } = this.#lines.linePos(offset);
    return `${this.#name}:${line}:${col}`;
  }
}

/** An invalid alias or merge; `offset` into the text. */
interface BrokenAlias {
  readonly offset: number;
  readonly what: string;
  readonly expected?: string;
  readonly next: string;
}

/** The value of each alias; those without an anchor are absent. */
type Aliases = ReadonlyMap<Alias, Node>;

/** Returns the values of all aliases. One pass: the library searches the whole document for each. */
function aliasesOf(document: Document.Parsed): Aliases {
  const anchored = new Map<string, Node>();
  const values = new Map<Alias, Node>();
  visit(document, {
    Node: (_, node) => {
      const value = isAlias(node) ? anchored.get(node.source) : undefined;
      if (isAlias(node)) {
        if (value !== undefined) values.set(node, value);
      } else if (node.anchor !== undefined) anchored.set(node.anchor, node);
    },
  });
  return values;
}

/** Returns aliases without an anchor, and merges (`<<`) of values without keys. */
function brokenAliases(document: Document.Parsed, aliases: Aliases): BrokenAlias[] {
  const found: BrokenAlias[] = [];
  visit(document, {
    Alias: (_, alias) => {
      if (aliases.has(alias)) return;
      const { source, range } = alias;
      found.push({
        offset: range?.[0] ?? 0,
        what: `*${source} has no anchor`,
        next: `add &${source} to the value, earlier in the file`,
      });
    },
    Pair: (_, { key, value }) => {
      if (!isScalar(key) || typeof key.value !== 'symbol' || canMerge(value, aliases)) return;
      found.push({
        offset: key.range?.[0] ?? 0,
        what: '<< merges keys, but this value has none',
        expected: '*NAME of a value with keys, or a list of such',
        next: 'remove it',
      });
    },
  });
  return found;
}

/** Returns whether a value can be merged. True for an alias without an anchor, which is reported separately. */
function canMerge(value: unknown, aliases: Aliases): boolean {
  const source = isAlias(value) ? aliases.get(value) : value;
  if (isSeq(source)) return source.items.every((item) => canMerge(item, aliases));
  return isMap(source) || (isAlias(value) && source === undefined);
}

/** A duplicate key of a map; offsets into the text. */
interface Duplicate {
  readonly key: string;
  readonly first: number;
  readonly second: number;
}

/**
 * Finds duplicate keys and joins their maps, so that a duplicate hides no other mistake. Compares the text of keys: `1`
 * and `"1"` are the same.
 */
function joinDuplicates(document: Document.Parsed): Duplicate[] {
  const found: Duplicate[] = [];
  visit(document, {
    Map: (_, map) => {
      const pairs = new Map<string, Pair>();
      map.items = map.items.filter((pair) => {
        if (!isScalar(pair.key)) return true;
        const key = keyOf(pair.key);
        const earlier = pairs.get(key);
        if (earlier === undefined) {
          pairs.set(key, pair);
          return true;
        }
        if (isMap(earlier.value) && isMap(pair.value)) earlier.value.items.push(...pair.value.items);
        found.push({ key, first: offsetOf(earlier), second: offsetOf(pair) });
        return false;
      });
    },
  });
  return found;
}

/** Returns the key as typed; the parser represents `<<` by a symbol. */
function keyOf({ value }: Scalar): string {
  return typeof value === 'symbol' ? (value.description ?? '') : String(value);
}

function offsetOf({ key }: Pair): number {
  return isScalar(key) ? (key.range?.[0] ?? 0) : 0;
}

interface Unset {
  readonly variable: string;
  /** Offset of the `$` in the text. */
  readonly offset: number;
}

interface Expanded {
  readonly value: string;
  readonly unset: readonly Unset[];
}

const reference = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$\{/g;

/**
 * Replaces `${NAME}` and `${NAME:-default}` (as in a shell, the default also replaces an empty variable).
 * `$${` is a literal `${`. A malformed reference counts as unset.
 */
export function expand(text: string, env: Readonly<Record<string, string | undefined>>): Expanded {
  const unset: Unset[] = [];
  const value = text.replaceAll(
    reference,
    (match: string, variable?: string, fallback?: string, offset = 0) => {
      if (match === '$${') return '${';
      const found = variable === undefined ? undefined : env[variable];
      if (found !== undefined && !(found === '' && fallback !== undefined)) return found;
      if (fallback !== undefined) return fallback;
      unset.push({ variable: variable ?? '', offset });
      return match;
    },
  );
  return { value, unset };
}

/** A mistake in the value at `path`, as parts of a message. */
export interface Mistake extends Pick<Problem, 'code' | 'expected' | 'seen' | 'next'> {
  readonly place: string;
  readonly path: Path;
  /** The subject of the message: `hosts.a.port`. */
  readonly named: string;
  /** What follows the name: `is not a known key`. */
  readonly says: string;
}

/** Turns mistakes into problems; one that several hosts share is reported once, with the names of the others. Pure. */
export function problemsOnce(mistakes: readonly Mistake[]): Problem[] {
  const same = Map.groupBy(mistakes, signature);
  return [...same.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const { place, path: _path, named, says, ...rest } = first;
    const others = more.flatMap(({ path }) => hostOf(path) ?? []);
    return [{ step: 'inventory', ...rest, what: `${place}: ${named} ${says}${alsoAt(others)}` }];
  });
}

/** Returns ` (also: b, c)`; empty for no names. */
export function alsoAt(hosts: readonly string[]): string {
  return hosts.length === 0 ? '' : ` (also: ${namesInShort(hosts)})`;
}

function signature({ place, ...said }: Mistake): string {
  const host = hostOf(said.path);
  if (host === undefined) return JSON.stringify([place, said]);
  const own = JSON.stringify(said.path.slice(2));
  const words = [said.code, said.named, said.says, said.expected, said.seen, said.next];
  return own + JSON.stringify(words).replaceAll(dotted(['hosts', host]), 'hosts.{host}');
}

function hostOf([top, host]: Path): string | undefined {
  return top === 'hosts' && host !== undefined ? String(host) : undefined;
}

/** Keys and indices, from the outermost inwards. */
export type Path = readonly PropertyKey[];

/** Returns the name of a path in messages. */
export function dotted(path: Path): string {
  return path.length === 0 ? 'the inventory' : excerpt(path.map(String).join('.'));
}
