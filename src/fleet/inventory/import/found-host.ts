import { closeSync, openSync, readSync } from 'node:fs';

import { codeOf, type FleetError, usageError } from '../../../shared/base/errors.ts';
import { excerpt } from '../../../shared/base/foreign-text.ts';
import { addHosts } from '../document/edit.ts';
import type { Fleet } from '../fleet.ts';
import { type HostEntry, hostEntry } from '../schema/host.ts';
import { name as hostNameInFile } from '../schema/values.ts';

/** A host of another program's file, as an inventory entry. */
export interface FoundHost {
  readonly name: string;
  readonly entry: HostEntry;
  /** Names of its groups in that file. */
  readonly groups: readonly string[];
}

/** A part of the file that is not imported. */
export interface LeftOut {
  readonly what: string;
  readonly why: string;
}

export interface Found {
  readonly hosts: readonly FoundHost[];
  readonly leftOut: readonly LeftOut[];
}

/** Maximum hosts of one file. */
export const mostHosts = 5000;

/** Keys that an imported file may set: neither how a host is verified, nor what runs on it. */
const importable = hostEntry.unwrap().pick({
  address: true,
  port: true,
  user: true,
  identityFile: true,
  jump: true,
  gpus: true,
  labels: true,
});

/**
 * Returns a host with these values, or the reason why not: with an invalid value, a connection could reach another
 * machine. Rejects variables, because the inventory would expand them.
 */
export function foundHost(name: string, values: object, groups: readonly string[]): Found {
  const rejected = (why: string): Found => ({ hosts: [], leftOut: [{ what: `host ${excerpt(name)}`, why }] });
  if (!hostNameInFile.safeParse(name).success)
    return rejected('a name may contain only letters, digits, ".", "_" and "-", at most 63');
  const variable = Object.entries(values).find(([, value]) => /\$\{|\{\{/.test(JSON.stringify(value)));
  if (variable !== undefined) return rejected(`its ${variable[0]} contains a variable or a template`);
  const { success, data, error } = importable.safeParse(values);
  if (success) return { hosts: [{ name, entry: data, groups }], leftOut: [] };
  const [issue] = error.issues;
  if (issue?.code === 'unrecognized_keys')
    return rejected(`unsupported keys: ${issue.keys.slice(0, 5).map(excerpt).join(', ')}`);
  const key = String(issue?.path[0] ?? '');
  const value: unknown = Reflect.get(values, key);
  return rejected(`its ${key} is ${excerpt(JSON.stringify(value) ?? '')}; expected ${issue?.message ?? ''}`);
}

export function combine(parts: readonly Found[]): Found {
  return {
    hosts: parts.flatMap(({ hosts }) => hosts),
    leftOut: parts.flatMap(({ leftOut }) => leftOut),
  };
}

/** The result of an import. */
interface Import {
  readonly added: readonly FoundHost[];
  readonly leftOut: readonly LeftOut[];
}

/** Returns the found hosts that an inventory lacks. Omits hosts with the address of another one. Pure. */
export function newHosts(found: Found, { hosts }: Pick<Fleet, 'hosts'>): Import {
  const names = new Set(hosts.map(({ name }) => name.toLowerCase()));
  const places = new Map(hosts.map(({ name, ssh }) => [`${ssh.address ?? name}:${ssh.port ?? 22}`, name]));
  const added: FoundHost[] = [];
  const leftOut: LeftOut[] = [];
  for (const host of found.hosts) {
    const { name, entry } = host;
    const place = `${entry.address ?? name}:${entry.port ?? 22}`;
    const owner = places.get(place);
    if (names.has(name.toLowerCase()))
      leftOut.push({ what: `host ${name}`, why: 'the inventory has a host with that name' });
    else if (owner !== undefined)
      leftOut.push({ what: `host ${name}`, why: `same address as host ${owner}` });
    else {
      names.add(name.toLowerCase());
      places.set(place, name);
      added.push(host);
    }
  }
  const groups = new Set(
    added.flatMap((host) => host.groups).filter((group) => names.has(group.toLowerCase())),
  );
  const grouped = added.map((host) => ({
    ...host,
    groups: host.groups.filter((group) => !groups.has(group)),
  }));
  const clashes = [...groups].map((group) => ({ what: `group ${group}`, why: 'a host has that name' }));
  return { added: grouped, leftOut: [...leftOut, ...clashes, ...found.leftOut] };
}

/** Adds the found hosts to the text of an inventory. */
export function withFound(source: string, hosts: readonly FoundHost[]): string {
  const groups = new Map<string, string[]>();
  for (const { name, groups: of } of hosts)
    for (const group of of) groups.set(group, [...(groups.get(group) ?? []), name]);
  return addHosts(source, { hosts: new Map(hosts.map(({ name, entry }) => [name, entry])), groups });
}

/** Maximum bytes of an imported file. */
const largest = 8 * 2 ** 20;

/** Reads the text of another program's file, up to the maximum size. */
export function readSource(
  file: string,
  shown: string,
  next = `check that the file is there: ls -l ${shown}`,
): string {
  const text = decode(readBytes(file, shown, next));
  if (text !== undefined) return text;
  throw unusable(shown, 'not a UTF-8 text file, or larger than 8 MiB');
}

export function unusable(shown: string, why: string, next?: string): FleetError {
  return usageError({
    code: 'inventory.import',
    step: 'inventory',
    what: `cannot read hosts from ${shown}`,
    seen: why,
    ...(next === undefined ? {} : { next }),
  });
}

function readBytes(file: string, shown: string, next: string): Buffer {
  try {
    const open = openSync(file, 'r');
    try {
      const buffer = Buffer.alloc(largest + 1);
      let length = 0;
      for (let read = -1; read !== 0 && length < buffer.length; length += read)
        read = readSync(open, buffer, length, buffer.length - length, null);
      return buffer.subarray(0, length);
    } finally {
      closeSync(open);
    }
  } catch (error) {
    throw unusable(shown, codeOf(error), next);
  }
}

function decode(bytes: Buffer): string | undefined {
  if (bytes.length > largest) return undefined;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
