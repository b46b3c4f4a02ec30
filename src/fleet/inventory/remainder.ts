import type * as z from 'zod';

import { inventoryFile, type InventoryFile } from './schema/file.ts';
import { name as nameSchema } from './schema/values.ts';

/** A file without the parts that the schema rejects: the rest can still be checked across its keys. */
export interface Remainder {
  readonly file: InventoryFile;
  /** Removed parts: a key of the file (`defaults`), a host (`hosts/a`) or the vars of a group (`groups/g`). */
  readonly lost: ReadonlySet<string>;
}

type Data = Record<string, unknown>;

/** Returns undefined if the rest is so small that its problems would only be consequences. */
export function remainderOf(value: unknown, issues: readonly z.core.$ZodIssue[]): Remainder | undefined {
  if (!isData(value)) return undefined;
  const left: Data = { ...value };
  const parts = issues.flatMap(partsOf);
  for (const part of parts) removePart(left, part);
  if (left['hosts'] === undefined || (isEmpty(left['hosts']) && !isEmpty(value['hosts']))) return undefined;
  left['organization'] ??= 'https://dev.azure.com/unknown';
  const lost = new Set(parts.map(({ top, name }) => (name === undefined ? top : `${top}/${name}`)));
  const { success, data } = inventoryFile.safeParse(withCredential(left, lost));
  return success ? { file: data, lost } : undefined;
}

interface Part {
  readonly top: string;
  /** A host or group that loses only its settings: others may refer to it. */
  readonly name?: string;
}

/** Returns the parts to remove for an issue. A group without valid `hosts` and `children` is removed as a whole. */
function partsOf(issue: z.core.$ZodIssue): Part[] {
  const [top, name, key] = issue.path.map(String);
  if (top === undefined)
    return issue.code === 'unrecognized_keys' ? issue.keys.map((each) => ({ top: each })) : [];
  const ofHost = top === 'hosts' && name !== undefined;
  const ofVars = top === 'groups' && name !== undefined && key === 'vars';
  return [ofHost || ofVars ? { top, name } : { top }];
}

function removePart(left: Data, { top, name }: Part): void {
  const entries = left[top];
  if (name === undefined || !isData(entries)) delete left[top];
  else if (top === 'groups') left[top] = { ...entries, [name]: { ...(entries[name] as Data), vars: {} } };
  else if (isName(name)) left[top] = { ...entries, [name]: {} };
  else left[top] = Object.fromEntries(Object.entries(entries).filter(([key]) => key !== name));
}

function isName(text: string): boolean {
  return nameSchema.safeParse(text).success;
}

/** Adds a placeholder for an invalid token, so that it is not reported as missing too. */
function withCredential(left: Data, lost: ReadonlySet<string>): Data {
  const isInvalid = lost.has('token') || lost.has('servicePrincipal');
  return isInvalid && !left['token'] && !left['servicePrincipal']
    ? { ...left, token: { prompt: true } }
    : left;
}

function isEmpty(value: unknown): boolean {
  return isData(value) && Object.keys(value).length === 0;
}

function isData(value: unknown): value is Data {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
