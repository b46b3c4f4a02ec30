import * as z from 'zod';

import type { Problem } from '../../../shared/base/errors.ts';
import { excerpt } from '../../../shared/base/foreign-text.ts';
import { completed, nearest } from '../../../shared/base/nearest.ts';
import { dotted, type InventoryDocument, type Mistake, type Path, problemsOnce } from './document.ts';

type Issue = z.core.$ZodIssue;

/** Turns issues of the schema into problems with place, expectation and the value as typed. */
export function problemsOf(
  issues: readonly Issue[],
  schema: z.core.$ZodType,
  document: InventoryDocument,
  value: unknown,
): Problem[] {
  return problemsOnce(withoutEchoes(mistakesOf(issues, { schema, document, value }, [])));
}

/** Removes missing keys that are only misspelt: each is one mistake. */
function withoutEchoes(mistakes: readonly Mistake[]): Mistake[] {
  const beside = (path: Path): string => JSON.stringify(path.slice(0, -1));
  return mistakes.filter(
    ({ code, path }) =>
      code !== 'inventory.missing' ||
      !mistakes.some(
        (other) =>
          other.code === 'inventory.unknown-key' &&
          beside(other.path) === beside(path) &&
          other.next === `did you mean "${String(path.at(-1))}"?`,
      ),
  );
}

interface Input {
  readonly schema: z.core.$ZodType;
  readonly document: InventoryDocument;
  readonly value: unknown;
}

function mistakesOf(issues: readonly Issue[], input: Input, base: Path): Mistake[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path];
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey(key, path, input));
    if (issue.code === 'invalid_key') return [invalidKey(issue, path, input)];
    if (issue.code === 'invalid_union') {
      const branch = issue.errors.find(isInside);
      if (branch) return mistakesOf(branch, input, path);
    }
    return [invalidValue(issue, path, input)];
  });
}

/** Returns every path that an issue may refer to, including those in the branches of a union. */
export function placesOf(issue: Issue, base: Path = []): Path[] {
  const path = [...base, ...issue.path];
  const inner = issue.code === 'invalid_union' ? issue.errors.flat() : [];
  return [path, ...inner.flatMap((each) => placesOf(each, path))];
}

/** Returns whether a branch of a union matches at the outside, and all its mistakes are inside. */
function isInside(branch: readonly Issue[]): boolean {
  return branch.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys');
}

function unknownKey(key: string, path: Path, { schema, document }: Input): Mistake {
  const whole = [...path, key];
  return {
    code: 'inventory.unknown-key',
    place: document.place(whole, 'key'),
    path: whole,
    named: dotted(whole),
    says: 'is not a known key',
    ...knownKeys(key, path, schema),
  };
}

function invalidKey(
  issue: Extract<Issue, { code: 'invalid_key' }>,
  path: Path,
  { document }: Input,
): Mistake {
  return {
    code: 'inventory.key',
    place: document.place(path, 'key'),
    path,
    named: dotted(path.slice(0, -1)),
    says: 'has an invalid key',
    expected: issue.issues[0]?.message ?? issue.message,
    seen: excerpt(String(path.at(-1))),
    next: 'rename it',
  };
}

function invalidValue(issue: Issue, path: Path, input: Input): Mistake {
  const { document } = input;
  const value = valueAt(input.value, path);
  const named = dotted(path);
  const found = { place: document.place(path), path, named, expected: readable(issue.message) };
  if (value === undefined)
    return {
      ...found,
      code: 'inventory.missing',
      says: 'is missing',
      next: `add \`${String(path.at(-1))}:\` ${path.length === 1 ? 'to the file' : `under ${dotted(path.slice(0, -1))}`}`,
    };
  const written = document.written(path);
  return {
    ...found,
    code: 'inventory.value',
    says: 'has an invalid value',
    ...(quotesProblem(issue, value, written) ?? {
      seen: seen(value, named, written),
      next: 'replace it with an expected value',
      ...(mayHoldSecret(named) ? {} : suggestion(value, path, { ...input, expected: found.expected })),
    }),
  };
}

/** Suggests what the user probably meant by a text: an accepted word, a list, or a key with its value. */
function suggestion(
  value: unknown,
  path: Path,
  { schema, expected }: { readonly schema: z.core.$ZodType; readonly expected: string },
): Pick<Problem, 'next'> {
  if (Array.isArray(value) && path.length === 1 && path[0] === 'hosts')
    return { next: 'write each host as `NAME: {}`, without a leading -' };
  if (typeof value !== 'string') return {};
  if (expected.startsWith('a list of ')) return { next: excerpt(`write it as a list: [${value}]`) };
  const parts = path.at(-1) === 'address' ? addressParts(value) : [];
  if (parts.length > 1) return { next: excerpt(`write ${parts.join(' and ')}, each on its own line`) };
  const words = wordsAt(schema, path);
  const near = nearest(value, words) ?? completed(value, words);
  if (near !== undefined) return { next: `did you mean "${near}"?` };
  const [, key, rest] = /^([\w.-]+)(?::|\s+)(\S.*)$/.exec(value) ?? [];
  if (key === undefined || rest === undefined || !keysAt(schema, path).includes(key)) return {};
  return { next: excerpt(`put a colon and a space after the key: ${key}: ${rest}`) };
}

/** Splits an address with user and port, as ssh accepts it. */
function addressParts(text: string): string[] {
  const [, user, host, port] = /^(?:([^@\s]+)@)?([^@:\s]+)(?::(\d+))?$/.exec(text) ?? [];
  const parts = { user, address: host, port };
  return Object.entries(parts).flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${value}`]));
}

/** Reports a number that needs quotes, or a number or flag that must not have them. */
function quotesProblem(
  issue: Issue,
  value: unknown,
  written: string | undefined,
): Partial<Problem> | undefined {
  const text = written ?? String(value);
  if (typeof value === 'number' && accepts(issue, ['string']))
    return { seen: `the number ${text}`, next: unit(issue, text) ?? `put it in quotes: "${text}"` };
  const inQuotes = typeof value === 'string' && text === value && /^(\d+(\.\d+)?|true|false)$/.test(value);
  if (!inQuotes || !accepts(issue, ['number', 'int', 'boolean'])) return undefined;
  return { seen: `"${text}"`, next: `remove the quotes: ${text}` };
}

/** Suggests a unit for a duration, size or rate without one. */
function unit({ message }: Issue, text: string): string | undefined {
  const [, , example = ''] = /^a (duration|size|rate)\b.*?\b\d+([a-zA-Z][\w/]*)\b/.exec(message) ?? [];
  return example === '' ? undefined : `add the unit: ${text}${example}`;
}

/** Returns whether the schema accepts one of these types here. */
function accepts(issue: Issue, types: readonly string[]): boolean {
  if (issue.code === 'invalid_union')
    return issue.errors.flat().some((inner) => inner.path.length === 0 && accepts(inner, types));
  return issue.code === 'invalid_type' && types.includes(issue.expected);
}

/** Shortens zod's own message, used where the schema has none. */
function readable(message: string): string {
  return message.replace(/^Invalid input: expected /, '').replace(/, received .*$/, '');
}

function seen(value: unknown, name: string, written: string | undefined): string {
  if (value === null) return 'nothing (an empty value)';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return `keys ${excerpt(Object.keys(value).join(', ')) || '(none)'}`;
  if (mayHoldSecret(name)) return 'a literal value (not shown)';
  const type = typeof value === 'number' ? 'the number ' : '';
  return `${type}${excerpt(withoutUserInfo(written ?? JSON.stringify(value)))}`;
}

function withoutUserInfo(text: string): string {
  return text.replace(/^(https?:\/\/)[^/]*@/, '$1***@');
}

function mayHoldSecret(name: string): boolean {
  return /token|secret|password|webhook(\.url)?$/i.test(name) && !name.endsWith('.expires');
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** Names of the same keys in other tools. */
const alsoCalled: Readonly<Record<string, readonly string[]>> = {
  address: ['host', 'hostname', 'ip', 'fqdn', 'ansible_host', 'ansible_ssh_host'],
  user: ['username', 'login', 'remote_user', 'ansible_user', 'ansible_ssh_user'],
  port: ['ssh_port', 'ansible_port', 'ansible_ssh_port'],
  identityFile: ['key', 'key_file', 'private_key', 'ssh_key', 'ansible_ssh_private_key_file'],
  jump: ['bastion', 'gateway', 'proxy_jump', 'proxyjump'],
  sudoPassword: ['become_password', 'ansible_become_password', 'sudo_password'],
  loginPassword: ['password', 'ssh_password', 'ansible_password'],
  gpus: ['gpu_count', 'num_gpus'],
  organization: ['org', 'url'],
  token: ['pat'],
  hosts: ['machines', 'servers', 'nodes', 'all'],
  vars: ['defaults', 'settings'],
};

/** Maximum keys that a message lists; of more keys, only the first ones are shown. */
const mostListed = 8;
const shownOfMore = 6;

/** Suggests a replacement for an unknown key: a similar key, the same key at another path, or the list of keys. */
function knownKeys(key: string, path: Path, schema: z.core.$ZodType): Pick<Problem, 'expected' | 'next'> {
  const known = keysAt(schema, path);
  const other = known.find((each) => alsoCalled[each]?.includes(key.toLowerCase()) === true);
  const near = nearest(key, known) ?? other;
  if (near !== undefined) return { next: `did you mean "${near}"?` };
  const places = placesOfKey(schema, key);
  if (places.length > 0) return { next: `move it: ${key} is valid ${placesText(places)}` };
  if (known.length <= mostListed)
    return { expected: `one of ${known.join(', ')}`, next: 'use one of these, or remove it' };
  return {
    expected: `a key such as ${known.slice(0, shownOfMore).join(', ')}`,
    next: 'see docs/inventory.md for all keys, or remove it',
  };
}

function placesText(places: readonly string[]): string {
  if (places[0] === '') return 'at the top level';
  const first = places.slice(0, 3);
  return `under ${[first.slice(0, -1).join(', '), first.at(-1)].filter(Boolean).join(' or ')}`;
}

/** Returns the keys that the schema accepts at a path. */
function keysAt(schema: z.core.$ZodType, path: Path): readonly string[] {
  const objects = schemasAt([schema], path).filter((each) => each instanceof z.ZodObject);
  return [...new Set(objects.flatMap((object) => Object.keys(object.shape)))];
}

/** Returns the literal words that the schema accepts at a path. */
function wordsAt(schema: z.core.$ZodType, path: Path): readonly string[] {
  const words = schemasAt([schema], path).flatMap((each) => {
    if (each instanceof z.ZodEnum) return Object.values(each.enum);
    return each instanceof z.ZodLiteral ? [...each.values] : [];
  });
  return words.filter((word) => typeof word === 'string');
}

/**
 * Returns the paths where a key is valid, the outermost first: `defaults`, `hosts.NAME`; the empty text is the top
 * level. Omits paths inside another one.
 */
function placesOfKey(schema: z.core.$ZodType, key: string): readonly string[] {
  const found = placesBelow(schema, key, []);
  const byDepth = found.toSorted((left, right) => left.length - right.length);
  const places = [...new Set(byDepth.map((path) => path.join('.')))];
  return places.filter((place) => !places.some((outer) => place.startsWith(`${outer}.`)));
}

function placesBelow(schema: z.core.$ZodType, key: string, path: readonly string[]): readonly string[][] {
  return unwrap(schema).flatMap((open): readonly string[][] => {
    if (open instanceof z.ZodRecord) return placesBelow(open.valueType, key, [...path, 'NAME']);
    if (open instanceof z.ZodArray) return placesBelow(open.element, key, path);
    if (!(open instanceof z.ZodObject)) return [];
    const below = Object.entries(open.shape).flatMap(([name, child]) =>
      placesBelow(child as z.core.$ZodType, key, [...path, name]),
    );
    return [...(Object.hasOwn(open.shape, key) ? [[...path]] : []), ...below];
  });
}

function schemasAt(schemas: readonly z.core.$ZodType[], path: Path): readonly z.core.$ZodType[] {
  const open = schemas.flatMap(unwrap);
  const [key, ...rest] = path;
  if (key === undefined) return open;
  const inner = open.flatMap((schema): z.core.$ZodType[] => {
    if (schema instanceof z.ZodObject) {
      const child: z.core.$ZodType | undefined = schema.shape[String(key)];
      return child ? [child] : [];
    }
    if (schema instanceof z.ZodRecord) return [schema.valueType];
    if (schema instanceof z.ZodArray) return [schema.element];
    return [];
  });
  return inner.length === 0 ? [] : schemasAt(inner, rest);
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(unwrap);
  return [schema];
}
