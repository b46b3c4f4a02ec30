import { isDeepStrictEqual } from 'node:util';

import { type Problem, usageError } from '../../shared/base/errors.ts';
import { excerpt } from '../../shared/base/foreign-text.ts';
import { isObject } from '../../shared/base/objects.ts';
import { dotted, InventoryDocument, type Path } from './document/document.ts';

/** An inventory as text; `name` is for messages. */
export interface InventoryText {
  readonly name: string;
  readonly text: string;
}

/** Top-level keys that may differ, but for the keys below. All others say where a secret is found and sent, or name files. */
const free: ReadonlySet<string> = new Set([
  'projects',
  'defaults',
  'groups',
  'hosts',
  'mirrors',
  'uploads',
  'waves',
]);

/**
 * Keys that may not differ anywhere: commands, files that name commands (ssh_config has ProxyCommand), folders that are read, and the
 * other sources of secrets, because a new host could ask for the token as its password.
 */
const fixed: ReadonlySet<string> = new Set(['cmd', 'sshConfig', 'dockerfile', 'env', 'file', 'prompt']);

/**
 * Throws a usage error if an inventory would make azp-fleet run a command, or read or send a secret, that another one does not. Only
 * parses both texts: no variable is expanded, no other file is read, and nothing is run. The parser is that of the inventory, so that
 * aliases and merges mean the same here. Pure.
 */
export function checkSameCommands(inventory: InventoryText, base: InventoryText): void {
  const [now, before] = [parsed(inventory), parsed(base)];
  const [values, known] = [fixedValues(now.value), fixedValues(before.value)];
  const paths = new Map([...known, ...values].map(([key, { path }]) => [key, path]));
  const problems = [...paths].flatMap(([key, path]): readonly Problem[] => {
    const [here, there] = [values.get(key), known.get(key)];
    if (here && there && isDeepStrictEqual(here.value, there.value)) return [];
    return [
      {
        code: 'inventory.commands-differ',
        step: 'inventory',
        what: `${now.document.place(path)}: ${dotted(path)} differs from ${base.name}`,
        expected: shown(there),
        seen: shown(here),
        next: 'review it, and run the plan by hand',
      },
    ];
  });
  if (problems.length > 0) throw several(problems, inventory, base);
}

/** Parses one inventory. Throws where the text is not clear: invalid YAML, duplicate keys, aliases without an end. */
function parsed({ name, text }: InventoryText): {
  readonly document: InventoryDocument;
  readonly value: unknown;
} {
  const document = new InventoryDocument(text, name);
  const value = document.readable ? document.toValue() : undefined;
  const [first, ...more] = document.problems;
  if (first !== undefined) throw usageError(more.length === 0 ? first : invalid(name, document.problems));
  return { document, value };
}

function invalid(name: string, details: readonly Problem[]): Problem {
  const what = `${name} has ${details.length} mistakes`;
  return { code: 'inventory.invalid', step: 'inventory', what, details };
}

function several(problems: readonly Problem[], { name }: InventoryText, base: InventoryText): Error {
  const [first, ...more] = problems;
  if (first !== undefined && more.length === 0) return usageError(first);
  return usageError({
    code: 'inventory.commands-differ',
    step: 'inventory',
    what: `${name} differs from ${base.name} in ${problems.length} values that azp-fleet runs, reads or sends`,
    details: problems,
  });
}

interface FixedValue {
  readonly path: Path;
  readonly value: unknown;
}

function shown(found: FixedValue | undefined): string {
  return found === undefined ? 'no such key' : excerpt(JSON.stringify(found.value));
}

/** Returns the values that may not differ, by their paths. */
function fixedValues(document: unknown): ReadonlyMap<string, FixedValue> {
  const found = new Map<string, FixedValue>();
  const note = (path: Path, value: unknown): void => {
    found.set(JSON.stringify(path), { path, value });
  };
  const visit = (value: unknown, path: Path): void => {
    if (isLabels(path)) return;
    if (Array.isArray(value)) for (const [index, each] of value.entries()) visit(each, [...path, index]);
    else if (isObject(value))
      for (const [key, each] of Object.entries(value)) {
        if (fixed.has(key) && !isNamed(path)) note([...path, key], each);
        else visit(each, [...path, key]);
      }
  };
  if (!isObject(document)) note([], document);
  else
    for (const [key, value] of Object.entries(document)) {
      if (free.has(key)) visit(value, [key]);
      else note([key], value);
    }
  return found;
}

/** Tells whether the keys at this path are names of hosts or groups. */
function isNamed(path: Path): boolean {
  return path.length === 1 && (path[0] === 'hosts' || path[0] === 'groups');
}

/** Tells whether the keys at this path are names that users choose for jobs and for `--limit`. */
function isLabels(path: Path): boolean {
  const [top] = path;
  const settings =
    top === 'defaults' ? 1 : top === 'hosts' ? 2 : top === 'groups' && path[2] === 'vars' ? 3 : -1;
  const key = path[settings];
  return path.length === settings + 1 && (key === 'labels' || key === 'capabilities');
}
