import { readFileSync } from 'node:fs';
import path from 'node:path';

import type { Context } from '../base/context.ts';
import { usageError } from '../base/errors.ts';
import type { FleetError, Problem } from '../base/errors.ts';
import { organizationUrl } from '../azure/url.ts';
import { checkFile } from './check-file.ts';
import { checkAgentDigest, checkAgentNames, checkHost, warnAboutAddresses } from './check.ts';
import type { Finding } from './check.ts';
import { InventoryDocument } from './document.ts';
import type { Path } from './document.ts';
import type { Fleet } from './fleet.ts';
import { placesOf, problemsOf } from './issues.ts';
import { looksLikeSecret } from './literal.ts';
import { groupsOf } from './merge.ts';
import { resolveCredential, resolveHost, resolveMirrors, resolveProxy } from './resolve.ts';
import { inventoryFile } from './schema/file.ts';
import type { InventoryFile } from './schema/file.ts';

export type LoadContext = Pick<Context, 'env' | 'cwd' | 'home'>;

/**
 * Reads an inventory. Everything that is wrong with it is reported at once: a usage error (exit code 2) whose
 * `details` hold one problem for each mistake, or the problem itself when there is only one.
 */
export function loadFleet(file: string, context: LoadContext): Fleet {
  return parseFleet(read(path.resolve(context.cwd, file), file), file, context);
}

/** The same for text that is not in a file yet. `file` names it in messages and anchors relative paths. */
export function parseFleet(source: string, file: string, context: LoadContext): Fleet {
  const document = new InventoryDocument(source, file);
  stopAt(document.problems, file);
  document.expandVariables(context.env);
  refuseLiterals(document, file);
  const parsed = validate(document);
  stopAt(document.problems, file);
  if (!parsed) throw new TypeError('the schema found nothing wrong and nothing right');
  const full = path.resolve(context.cwd, file);
  return build(parsed, document, { file: full, shown: file, home: context.home });
}

function build(
  parsed: InventoryFile,
  document: InventoryDocument,
  at: { readonly file: string; readonly shown: string; readonly home: string },
): Fleet {
  const fail = (findings: readonly Finding[]) => stopAt(placed(findings, document, parsed), at.shown);
  fail(checkFile(parsed));
  const folders = { folder: path.dirname(at.file), home: at.home };
  const hosts = Object.keys(parsed.hosts).map((name) => resolveHost(name, parsed, folders));
  const mirrors = resolveMirrors(parsed.mirrors);
  fail([...hosts.flatMap(checkHost), ...checkAgentNames(hosts), ...checkAgentDigest(hosts, mirrors)]);
  const credential = resolveCredential(parsed, folders);
  if (!credential) throw new TypeError('a file without a credential passed its check');
  return {
    file: at.file,
    organization: organizationUrl(parsed.organization),
    credential,
    projects: parsed.projects ?? [],
    hosts,
    mirrors,
    proxy: resolveProxy(parsed, folders),
    clockScale: parsed.practice?.clockScale ?? 1,
    warnings: placed(warnAboutAddresses(hosts), document, parsed),
  };
}

function read(full: string, shown: string): string {
  try {
    return readFileSync(full, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    throw usageError(
      {
        code: 'inventory.unreadable',
        step: 'inventory',
        what: code === 'ENOENT' ? `there is no inventory ${shown}` : `the inventory ${shown} cannot be read`,
        ...(code === 'ENOENT' ? {} : { seen: code ?? String(error) }),
        next:
          code === 'ENOENT'
            ? 'azp-fleet setup makes one by asking, azp-fleet init HOST… from arguments; or name yours with -i FILE'
            : `check the file's permissions: ls -l ${shown}`,
      },
      error,
    );
  }
}

/** Validates, giving `${VAR}` values the type they would have when written out where that is needed. */
function validate(document: InventoryDocument): InventoryFile | undefined {
  for (;;) {
    const value = document.toValue();
    if (value === undefined) return undefined;
    const result = inventoryFile.safeParse(value);
    if (result.success) return result.data;
    const retyped = result.error.issues
      .flatMap((issue) => placesOf(issue))
      .filter((at) => document.retype(at));
    if (retyped.length > 0) continue;
    document.problems.push(...problemsOf(result.error.issues, inventoryFile, document, value));
    return undefined;
  }
}

/** Stops before the schema could quote it in a message. */
function refuseLiterals(document: InventoryDocument, file: string): void {
  const found = [...document.texts()].filter(({ text }) => looksLikeSecret(text));
  if (found.length === 0) return;
  const problems = found.map(({ place }) => ({
    code: 'inventory.literal-secret',
    step: 'inventory',
    what: `${place}: this looks like a token or key itself`,
    expected: 'where it is found: { env: NAME }, { file: PATH }, { cmd: "COMMAND" } or { prompt: true }',
    seen: 'a literal value (not shown)',
    next: 'take it out, revoke it if the file was ever shared, and write e.g. token: { env: AZP_TOKEN }',
  }));
  stopAt([...document.problems, ...problems], file);
}

function placed(findings: readonly Finding[], document: InventoryDocument, parsed: InventoryFile): Problem[] {
  const problems = findings.map(({ path: place, what, ...rest }) => ({
    step: 'inventory',
    what: `${document.place(origin(place, document, parsed))}: ${what}`,
    ...rest,
  }));
  return [...new Map(problems.map((problem) => [problem.what, problem])).values()];
}

/** Where a host's value really stands: at the host, in one of its groups, or in the defaults. */
function origin(place: Path, document: InventoryDocument, parsed: InventoryFile): Path {
  const [top, host, key, ...rest] = place;
  if (top !== 'hosts' || typeof host !== 'string' || key === undefined) return place;
  const groups = groupsOf(host, parsed.groups ?? {}).toReversed();
  const layers = [['hosts', host], ...groups.map((name) => ['groups', name, 'vars']), ['defaults']];
  const wanted = [[key, ...rest], ...(key === 'datasets' ? [['volumes']] : []), [key]];
  const candidates = wanted.flatMap((tail) => layers.map((layer): Path => [...layer, ...tail]));
  return candidates.find((candidate) => document.has(candidate)) ?? place;
}

function stopAt(problems: readonly Problem[], file: string): void {
  const sorted = [...problems].sort((one, other) => position(one) - position(other));
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

/** `file:12:3: …` in the order of the file. */
function position(problem: Problem): number {
  const match = /:(\d+):(\d+): /.exec(problem.what);
  return Number(match?.[1] ?? 0) * 10_000 + Number(match?.[2] ?? 0);
}
