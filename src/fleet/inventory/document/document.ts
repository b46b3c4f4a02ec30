import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type Node,
  type Pair,
  type Scalar,
} from 'yaml';

import type { Problem } from '../../../shared/base/errors.ts';
import { excerpt } from '../../../shared/base/foreign-text.ts';
import { joinDuplicates, type Duplicate } from './duplicates.ts';
import { brokenAliases } from './aliases.ts';
import { expand } from './expand.ts';
import { asWell } from './once.ts';
import type { Path } from './path.ts';
import { slipIn, type Slip } from './slips.ts';

/** An inventory as text with positions: values for the schema, lines and columns for the messages. */
export class InventoryDocument {
  readonly problems: Problem[] = [];
  /** False when the text is no YAML: nothing but `problems` is of use then. */
  readonly readable: boolean;
  readonly #document: Document.Parsed;
  readonly #lines = new LineCounter();
  readonly #source: string;
  readonly #name: string;
  /** Scalars that held a variable, with their text as typed: once expanded it may mean a number. */
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
    // One slip of syntax makes the parser complain about everything that follows.
    const slip = slipIn(source, [...this.#document.errors, ...this.#document.warnings]);
    const broken = slip ? [] : brokenAliases(this.#document);
    this.readable = slip === undefined && broken.length === 0;
    if (slip) this.problems.push(this.#slip(slip));
    else for (const twice of joinDuplicates(this.#document)) this.problems.push(this.#twice(twice));
    for (const { offset, what, ...rest } of broken)
      this.problems.push({
        code: 'inventory.alias',
        step: 'inventory',
        what: `${this.#place(offset)}: ${what}`,
        ...rest,
      });
  }

  #slip({ offset, what, next }: Slip): Problem {
    return { code: 'inventory.yaml', step: 'inventory', what: `${this.#place(offset)}: ${what}`, next };
  }

  #twice({ key, first, second }: Duplicate): Problem {
    return {
      code: 'inventory.duplicate-key',
      step: 'inventory',
      what: `${this.#place(second)}: the key ${excerpt(key)} stands here twice`,
      seen: `the first one at ${this.#place(first)}`,
      next: 'keep one of them, with what belongs to both',
    };
  }

  /** Fills in environment variables, in values only. */
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

  /** Plain data; undefined, with a problem noted, when anchors and aliases make it explode. */
  toValue(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: 1000 }) ?? {};
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
      this.problems.push({
        code: 'inventory.yaml',
        step: 'inventory',
        what: `${this.#name}: aliases (*NAME) of aliases make it larger than it can be read`,
        expected: 'at most 1000 aliases',
        next: 'write the values out instead of pointing at them with *NAME',
      });
      return undefined;
    }
  }

  /** Every text with its node, keys left out. */
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

  /** Gives an expanded text at this path the type it would have had when written out. True when it changed. */
  retype(path: Path): boolean {
    const node = this.#find(path)?.value;
    if (!isScalar(node) || !this.#expanded.has(node) || typeof node.value !== 'string') return false;
    const value: unknown = parseDocument(node.value).toJS();
    if (typeof value !== 'number' && typeof value !== 'boolean') return false;
    node.value = value;
    return true;
  }

  /** `FILE:LINE:COLUMN` of the value at the path, or of its nearest ancestor that exists. */
  place(path: Path, part: 'key' | 'value' = 'value'): string {
    for (let length = path.length; length > 0; length -= 1) {
      const found = this.#find(path.slice(0, length));
      const node = length === path.length && part === 'value' ? (found?.value ?? found?.key) : found?.key;
      const offset = (node ?? found?.value)?.range?.[0];
      if (offset !== undefined) return this.#place(offset);
    }
    return this.#place(this.#document.contents?.range[0] ?? 0);
  }

  /** Whether something stands at exactly this path. */
  has(path: Path): boolean {
    return this.#find(path) !== undefined;
  }

  /** Whether the value at the path wants a variable that is not set, which has been told. */
  isUnset(path: Path): boolean {
    const node = this.#find(path)?.value;
    return node !== undefined && this.#unset.has(node);
  }

  /** A scalar as it was typed: `580.10`, not 580.1; `${PORT}`, not what the variable holds, which may be a secret. */
  written(path: Path): string | undefined {
    const node = this.#find(path)?.value;
    if (!isScalar(node)) return undefined;
    return this.#expanded.get(node) ?? (typeof node.value === 'number' ? node.source : String(node.value));
  }

  #find(path: Path): { readonly key?: Node; readonly value?: Node } | undefined {
    let key: Node | undefined;
    let value: Node | undefined = this.#document.contents ?? undefined;
    for (const part of path) {
      const parent: Node | undefined = isAlias(value) ? value.resolve(this.#document) : value;
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

  /** Once, with the lines of the other places. */
  #reportUnset(variable: string, [first = 0, ...more]: readonly number[]): void {
    const own = this.#lines.linePos(first).line;
    const lines = more.map((offset) => this.#lines.linePos(offset).line).filter((line) => line !== own);
    const others = [...new Set(lines)].map((line) => `line ${line}`);
    const what = `${variable === '' ? '"${" does not begin a variable' : `the environment variable ${variable} is not set`}${asWell(others)}`;
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
