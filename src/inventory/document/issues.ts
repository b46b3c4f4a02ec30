import * as z from 'zod';

import type { Problem } from '../../base/errors.ts';
import { nearest } from '../../base/nearest.ts';
import { shown } from '../../base/shown.ts';
import type { InventoryDocument, Path } from './document.ts';

type Issue = z.core.$ZodIssue;

/** Turns what the schema found into messages with place, expectation and the value as typed. */
export function problemsOf(
  issues: readonly Issue[],
  schema: z.core.$ZodType,
  document: InventoryDocument,
  value: unknown,
  base: Path = [],
): Problem[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path];
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((key) => unknownKey(key, path, schema, document));
    if (issue.code === 'invalid_key') return [invalidKey(issue, path, document)];
    if (issue.code === 'invalid_union') {
      const branch = issue.errors.find(isAboutTheInside);
      if (branch) return problemsOf(branch, schema, document, value, path);
    }
    return [invalidValue(issue, path, document, valueAt(value, path))];
  });
}

/** Every place that an issue may be about, those inside the branches of a union included. */
export function placesOf(issue: Issue, base: Path = []): Path[] {
  const path = [...base, ...issue.path];
  const inner = issue.code === 'invalid_union' ? issue.errors.flat() : [];
  return [path, ...inner.flatMap((each) => placesOf(each, path))];
}

/** The branch of a union whose outer shape fits: its mistakes are further in. */
function isAboutTheInside(branch: readonly Issue[]): boolean {
  return branch.every((issue) => issue.path.length > 0 || issue.code === 'unrecognized_keys');
}

function unknownKey(key: string, path: Path, schema: z.core.$ZodType, document: InventoryDocument): Problem {
  const known = keysAt(schema, path);
  const near = nearest(key, known);
  return {
    code: 'inventory.unknown-key',
    step: 'inventory',
    what: `${document.place([...path, key], 'key')}: ${dotted([...path, key])} is not a known key`,
    ...(near === undefined
      ? { expected: `one of ${known.join(', ')}` }
      : { next: `did you mean "${near}"?` }),
  };
}

function invalidKey(
  issue: Extract<Issue, { code: 'invalid_key' }>,
  path: Path,
  document: InventoryDocument,
): Problem {
  return {
    code: 'inventory.key',
    step: 'inventory',
    what: `${document.place(path, 'key')}: ${dotted(path.slice(0, -1))} has a name that cannot be used`,
    expected: issue.issues[0]?.message ?? issue.message,
    seen: shown(String(path.at(-1))),
  };
}

function invalidValue(issue: Issue, path: Path, document: InventoryDocument, value: unknown): Problem {
  const place = document.place(path);
  const name = dotted(path);
  const expected = readable(issue.message);
  if (value === undefined)
    return {
      code: 'inventory.missing',
      step: 'inventory',
      what: `${place}: ${name} is missing`,
      expected,
      next: `add \`${String(path.at(-1))}:\` ${path.length === 1 ? 'to the file' : `under ${dotted(path.slice(0, -1))}`}`,
    };
  const written = document.written(path);
  return {
    code: 'inventory.value',
    step: 'inventory',
    what: `${place}: ${name} cannot be used as it is`,
    expected,
    ...(quotes(issue, value, written) ?? { seen: seen(value, name, written) }),
  };
}

/** A number without the quotes that make it text, or with quotes that it must not have. */
function quotes(issue: Issue, value: unknown, written: string | undefined): Partial<Problem> | undefined {
  const text = written ?? String(value);
  if (typeof value === 'number' && wants(issue, ['string']))
    return { seen: `the number ${text}`, next: `put it in quotes: "${text}"` };
  const inQuotes = typeof value === 'string' && text === value && /^(\d+(\.\d+)?|true|false)$/.test(value);
  if (!inQuotes || !wants(issue, ['number', 'int', 'boolean'])) return undefined;
  return { seen: `"${text}"`, next: `take the quotes away: ${text}` };
}

/** Whether a value of one of these types would do, by its type. */
function wants(issue: Issue, types: readonly string[]): boolean {
  if (issue.code === 'invalid_union')
    return issue.errors.flat().some((inner) => inner.path.length === 0 && wants(inner, types));
  return issue.code === 'invalid_type' && types.includes(issue.expected);
}

/** zod's own wording only where the schema has none. */
function readable(message: string): string {
  return message.replace(/^Invalid input: expected /, '').replace(/, received .*$/, '');
}

function seen(value: unknown, name: string, written: string | undefined): string {
  if (value === null) return 'nothing (an empty value)';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return `keys ${shown(Object.keys(value).join(', ')) || '(none)'}`;
  if (mayHoldSecret(name)) return 'a literal value (not shown)';
  const type = typeof value === 'number' ? 'the number ' : '';
  return `${type}${shown(withoutUserInfo(written ?? JSON.stringify(value)))}`;
}

function withoutUserInfo(text: string): string {
  return text.replace(/^(https?:\/\/)[^/]*@/, '$1***@');
}

function mayHoldSecret(name: string): boolean {
  return /token|secret|password|webhook(\.url)?$/i.test(name);
}

function dotted(path: Path): string {
  return path.length === 0 ? 'the inventory' : shown(path.map(String).join('.'));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      typeof inner === 'object' && inner !== null ? (inner as Record<PropertyKey, unknown>)[key] : undefined,
    value,
  );
}

/** The keys that the schema knows at a path. */
function keysAt(schema: z.core.$ZodType, path: Path): string[] {
  return objectsAt([schema], path).flatMap((object) => Object.keys(object.shape));
}

function objectsAt(schemas: readonly z.core.$ZodType[], path: Path): z.ZodObject[] {
  const open = schemas.flatMap(unwrap);
  const [key, ...rest] = path;
  if (key === undefined) return open.filter((schema) => schema instanceof z.ZodObject);
  const inner = open.flatMap((schema): z.core.$ZodType[] => {
    if (schema instanceof z.ZodObject) {
      const child: z.core.$ZodType | undefined = schema.shape[String(key)];
      return child ? [child] : [];
    }
    if (schema instanceof z.ZodRecord) return [schema.valueType];
    if (schema instanceof z.ZodArray) return [schema.element];
    return [];
  });
  return inner.length === 0 ? [] : objectsAt(inner, rest);
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return unwrap(schema.unwrap());
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(unwrap);
  return [schema];
}
