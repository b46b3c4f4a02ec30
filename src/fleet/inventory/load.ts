import { readFileSync } from 'node:fs';
import path from 'node:path';

import { organizationUrl } from '../../shared/azure/url.ts';
import type { Context } from '../../shared/base/context.ts';
import { type FleetError, type Problem, usageError, whyNot } from '../../shared/base/errors.ts';
import { excerpt } from '../../shared/base/foreign-text.ts';
import { defined, isObject } from '../../shared/base/objects.ts';
import { crossFindings } from './check.ts';
import type { Finding } from './finding.ts';
import { alsoAt, InventoryDocument, type Path } from './document/document.ts';
import { placesOf, problemsOf } from './document/issues.ts';
import type { Fleet } from './fleet.ts';
import { hostsFrom } from './import/terraform.ts';
import { type Remainder, remainderOf } from './remainder.ts';
import {
  type Folders,
  groupsOf,
  resolveCredential,
  resolveHost,
  resolveIdentity,
  resolveMirrors,
  resolveProxy,
  resolveRegistries,
  resolveUploads,
  resolveWaves,
} from './resolve.ts';
import { inventoryFile, type InventoryFile } from './schema/file.ts';
import { looksLikeSecret } from './secret.ts';

export type LoadContext = Pick<Context, 'env' | 'cwd' | 'home'>;

/**
 * Reads an inventory. Reports all mistakes at once: throws a usage error (exit code 2) with one problem for each
 * mistake in `details`, or with the problem itself if there is only one.
 */
export function loadFleet(file: string, context: LoadContext): Fleet {
  return parseFleet(readInventory(path.resolve(context.cwd, file), file), file, context);
}

/** Parses an inventory that is not in a file yet. `file` names it in messages and anchors relative paths. */
export function parseFleet(source: string, file: string, context: LoadContext): Fleet {
  const document = new InventoryDocument(source, file);
  if (!document.readable) stopAt(document.problems, file);
  document.expandVariables(context.env);
  refuseLiterals(document, file);
  document.problems.push(...typographicQuotes(document.texts()));
  const full = path.resolve(context.cwd, file);
  const part = withHostsFrom(validate(document), document, path.dirname(full));
  const fleet = part && build(part.file, { folder: path.dirname(full), home: context.home });
  const across = part && fleet ? crossFindings(part, fleet.hosts, fleet.mirrors) : [];
  stopAt([...document.problems, ...(part ? placed(across, document, part.file) : [])], file);
  if (!part || !fleet?.credential) throw new TypeError('the schema found nothing wrong and nothing right');
  return {
    ...fleet,
    file: full,
    organization: organizationUrl(part.file.organization),
    credential: fleet.credential,
  };
}

/** Adds the hosts of other programs' files. Adds problems of those files to the document. */
function withHostsFrom(
  part: Remainder | undefined,
  document: InventoryDocument,
  folder: string,
): Remainder | undefined {
  if (part === undefined) return undefined;
  const { hosts, problems } = hostsFrom(part.file, folder);
  const at = document.place(['hostsFrom', 'terraform']);
  document.problems.push(...problems.map((problem) => ({ ...problem, what: `${at}: ${problem.what}` })));
  return { ...part, file: { ...part.file, hosts } };
}

/** Resolves the valid parts of the file. */
function build(file: InventoryFile, folders: Folders) {
  return {
    credential: resolveCredential(file, folders),
    ...defined({ identity: resolveIdentity(file) }),
    projects: file.projects ?? [],
    hosts: Object.keys(file.hosts).map((name) => resolveHost(name, file, folders)),
    mirrors: resolveMirrors(file.mirrors),
    registries: resolveRegistries(file, folders),
    proxy: resolveProxy(file, folders),
    uploads: resolveUploads(file.uploads),
    waves: resolveWaves(file.waves),
  };
}

/** Reads the text of an inventory. `shown`: its name in messages. */
export function readInventory(full: string, shown: string): string {
  const bytes = readBytes(full, shown);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // Reported below.
  }
  throw usageError({
    code: 'inventory.unreadable',
    step: 'inventory',
    what: `${shown} is not a text file`,
    expected: 'YAML in UTF-8',
    next: 'save it as UTF-8, or pass the inventory with -i FILE',
  });
}

function readBytes(full: string, shown: string): Buffer {
  try {
    return readFileSync(full);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw usageError(
      {
        code: 'inventory.unreadable',
        step: 'inventory',
        what: code === 'ENOENT' ? `there is no inventory ${shown}` : `the inventory ${shown} cannot be read`,
        ...(code === 'ENOENT' ? {} : { seen: whyNot(error) }),
        next:
          code === 'ENOENT'
            ? 'run azp-fleet setup (it asks questions) or azp-fleet init HOST…, or pass yours with -i FILE'
            : code === 'EISDIR'
              ? `pass the file in it: -i ${shown}/FILE`
              : `check the file's permissions: ls -l ${shown}`,
      },
      error,
    );
  }
}

/**
 * Validates the document; `${VAR}` values get the type of their text if the schema needs it. Adds problems to the
 * document and returns the valid remainder.
 */
function validate(document: InventoryDocument): Remainder | undefined {
  for (;;) {
    const value = document.toValue();
    if (value === undefined) return undefined;
    const result = inventoryFile.safeParse(value);
    if (result.success) return { file: result.data, lost: new Set() };
    const { issues } = result.error;
    const retyped = issues.flatMap((issue) => placesOf(issue)).filter((at) => document.retype(at));
    if (retyped.length > 0) continue;
    const own = issues.filter((issue) => !placesOf(issue).some((at) => document.isUnset(at)));
    document.problems.push(...problemsOf(own, inventoryFile, document, value));
    return remainderOf(value, issues);
  }
}

/** Rejects literal secrets before the schema can quote them in a message. */
function refuseLiterals(document: InventoryDocument, file: string): void {
  const found = [...document.texts()].filter(({ text }) => looksLikeSecret(text));
  if (found.length === 0) return;
  const problems = found.map(({ place }): Problem => ({
    code: 'inventory.literal-secret',
    step: 'inventory',
    what: `${place}: this looks like a literal token or key`,
    expected: 'where it is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }',
    seen: 'a literal value (not shown)',
    next: 'remove it, revoke it if the file was ever shared, and write e.g. token: { env: AZP_TOKEN }',
  }));
  stopAt([...document.problems, ...problems], file);
}

function stopAt(problems: readonly Problem[], file: string): void {
  const placed = problems.map((problem) => ({ ...problem, ...positionOf(problem) }));
  const sorted = placed.toSorted(
    (one, other) => (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0),
  );
  const [first, ...more] = sorted;
  if (first) throw more.length === 0 ? usageError(first) : several(sorted, file);
}

function several(problems: readonly Problem[], file: string): FleetError {
  return usageError({
    code: 'inventory.invalid',
    step: 'inventory',
    what: `${file} has ${problems.length} mistakes`,
    details: problems,
  });
}

/** Returns the position of a problem in the file, from the `file:12:3: ` of its message. */
function positionOf({ what }: Problem): Pick<Problem, 'line' | 'column'> {
  const [, line, column] = /:(\d+):(\d+): /.exec(what) ?? [];
  return line === undefined ? {} : { line: Number(line), column: Number(column) };
}

/**
 * Adds to findings the place in the file that sets the value. A wrong value of a group or of the defaults is one
 * mistake; a finding caused by an unset variable is dropped.
 */
function placed(findings: readonly Finding[], document: InventoryDocument, file: InventoryFile): Problem[] {
  const found = findings.flatMap(({ path, ...finding }) => {
    const at = origin(path, document, file);
    return document.isUnset(at) ? [] : [{ ...finding, place: document.place(at) }];
  });
  // If several hosts have the same mistake, the place of the first one is shown.
  const same = Map.groupBy(found, ({ place, host: _host, ...said }) =>
    JSON.stringify([said, said.what.includes('{host}') ? '' : place]),
  );
  return [...same.values()].flatMap(([first, ...more]) => {
    if (first === undefined) return [];
    const { place, host = '', what, ...rest } = first;
    const others = what.includes('{host}') ? [...new Set(more.flatMap((finding) => finding.host ?? []))] : [];
    return [
      { step: 'inventory', ...rest, what: `${place}: ${what.replaceAll('{host}', host)}${alsoAt(others)}` },
    ];
  });
}

/** Returns the path that sets a host's value: at the host, in one of its groups, or in the defaults. */
function origin(place: Path, document: InventoryDocument, file: InventoryFile): Path {
  const [top, host, key, ...rest] = place;
  if (top !== 'hosts' || typeof host !== 'string' || key === undefined) return place;
  const groups = groupsOf(host, file.groups ?? {}).toReversed();
  const layers = [['hosts', host], ...groups.map((name) => ['groups', name, 'vars']), ['defaults']];
  const tails = [[key, ...rest], ...(key === 'datasets' ? [['volumes']] : []), [key]];
  const candidates = tails.flatMap((tail) => layers.map((layer): Path => [...layer, ...tail]));
  return candidates.find((candidate) => document.has(candidate)) ?? place;
}

const pairs = /^[\u201c\u201d\u201e\u00ab\u2018\u2019](.*)[\u201c\u201d\u00bb\u2018\u2019]$/su;

/** Reports typographic quotes, e.g. copied from a web page: to YAML they are letters. */
function typographicQuotes(texts: Iterable<{ readonly text: string; readonly place: string }>): Problem[] {
  return [...texts].flatMap(({ text, place }): Problem[] => {
    const [, inner] = pairs.exec(text) ?? [];
    if (inner === undefined) return [];
    return [
      {
        code: 'inventory.value',
        step: 'inventory',
        what: `${place}: typographic quotes become part of the value`,
        seen: excerpt(text),
        next: `use straight quotes: "${excerpt(inner)}"`,
      },
    ];
  });
}

/** Where the inventory sets a value of a host. */
export interface Origin {
  /** `host`, `group hopper` or `defaults`. */
  readonly layer: string;
  /** `FILE:LINE:COLUMN` */
  readonly at: string;
}

/** Keys whose maps are merged by key, layer by layer; a layer replaces every other key as a whole. */
const merged: ReadonlySet<string> = new Set([
  'limits',
  'labels',
  'capabilities',
  'docker',
  'toolkit',
  'jobs',
  'datasets',
  'agent',
  'driver',
  'gpus',
]);

/**
 * Reads a valid inventory, and returns where it sets a value of a host, by the key's path; undefined: nowhere, so it is a default.
 */
export function originsIn(
  file: string,
  context: LoadContext,
): (host: string, path: readonly string[]) => Origin | undefined {
  const full = path.resolve(context.cwd, file);
  const document = new InventoryDocument(readInventory(full, file), file);
  document.expandVariables(context.env);
  const part = withHostsFrom(validate(document), document, path.dirname(full));
  if (part === undefined) throw new TypeError(`${file} has changed`);
  return (host, [key = '', ...rest]) => {
    if (key === 'groups') return { layer: 'groups', at: document.place(['groups']) };
    const { groups = {}, hosts, defaults } = part.file;
    const layers: readonly {
      readonly layer: string;
      readonly at: Path;
      readonly vars: object | undefined;
    }[] = [
      { layer: 'host', at: ['hosts', host], vars: hosts[host] ?? undefined },
      ...groupsOf(host, groups)
        .toReversed()
        .map((name) => ({ layer: `group ${name}`, at: ['groups', name, 'vars'], vars: groups[name]?.vars })),
      { layer: 'defaults', at: ['defaults'], vars: defaults },
    ];
    const short = key === 'datasets' ? ['volumes'] : [];
    for (const { layer, at, vars } of layers) {
      const own = Object(vars) as Readonly<Record<string, unknown>>;
      const found = [key, ...short].find((each) => own[each] !== undefined);
      if (found === undefined) continue;
      const value = own[found];
      const isMap = isObject(value) && !Array.isArray(value);
      if (rest.length === 0 || !isMap || document.has([...at, found, ...rest]))
        return { layer, at: document.place([...at, found, ...(isMap ? rest : [])]) };
      // The key's map is replaced as a whole: the value in it is a default.
      if (!merged.has(key)) return undefined;
    }
    return undefined;
  };
}
