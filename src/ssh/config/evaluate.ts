import { posix } from 'node:path';

import { usageError } from '../../base/errors.ts';
import { matches } from './match.ts';
import type { ConfigFiles, ConfigWorld, RawOptions, Sourced } from './outside.ts';
import { type ConfigLine, parseConfig } from './parse.ts';
import { matchList } from './pattern.ts';

/** Options of which every occurrence counts; of all others the first one wins. */
const accumulating = new Set(['identityfile', 'certificatefile']);
/** Options that take the rest of the line, quotes and `#` included. */
const verbatim = new Set(['proxycommand', 'proxyjump', 'localcommand', 'remotecommand', 'knownhostscommand']);
/** Times for which `none` is the same as not being set: a later line may still set them. */
const times = new Set(['connecttimeout', 'serveraliveinterval']);
const maxDepth = 16;

/**
 * The options that OpenSSH's configuration files give for a host as typed, unexpanded, keyed in lower case.
 * `overrides` stand for what ssh takes from its command line (they win and are seen by Match).
 */
export function evaluateConfig(
  host: string,
  files: ConfigFiles,
  world: ConfigWorld,
  overrides: RawOptions = new Map(),
): RawOptions {
  const options: RawOptions = new Map([...overrides].map(([key, values]) => [key, [...values]]));
  const wantFinal = pass(host, host, false, files, world, options);
  if (!wantFinal) return options;
  const hostname = (options.get('hostname')?.[0]?.args[0] ?? host)
    .replaceAll('%h', host)
    .replaceAll('%%', '%');
  const now = world.isAddress(hostname) ? hostname : hostname.toLowerCase();
  options.set('hostname', [{ args: [now], from: options.get('hostname')?.[0]?.from ?? 'argument' }]);
  pass(host, now, true, files, world, options);
  return options;
}

function pass(
  original: string,
  host: string,
  final: boolean,
  files: ConfigFiles,
  world: ConfigWorld,
  options: RawOptions,
): boolean {
  const state = { wantFinal: false };
  const read = (file: string, user: boolean): void => {
    walk(linesOf(file, world), { active: true, never: false, depth: 0, user });
  };
  const walk = (lines: readonly ConfigLine[], start: Scope): void => {
    let { active } = start;
    for (const line of lines) {
      if (line.keyword === 'host') {
        active = !start.never && matchList(host, line.args);
      } else if (line.keyword === 'match') {
        const verdict = matches(line, { original, host, final, options }, world);
        if (verdict.wantsFinal) state.wantFinal = true;
        active = !start.never && verdict.matched;
      } else if (line.keyword === 'include') {
        include(line, { ...start, active, never: !active, depth: start.depth + 1 });
      } else if (active) {
        record(options, line);
      }
    }
  };
  const include = (line: ConfigLine, scope: Scope): void => {
    if (scope.depth > maxDepth) {
      throw usageError({
        code: 'ssh.config',
        step: 'connect',
        what: `${line.file}:${line.line}: Include goes deeper than ${maxDepth} files`,
        next: 'remove the file that includes itself',
      });
    }
    for (const pattern of line.args) {
      for (const file of world.glob(includePath(pattern, scope.user, world.home))) {
        walk(linesOf(file, world), scope);
      }
    }
  };
  read(files.user, true);
  if (files.system !== undefined) read(files.system, false);
  return state.wantFinal;
}

const parsed = new WeakMap<ConfigWorld, Map<string, readonly ConfigLine[]>>();

/** A file's lines; read and parsed once for a whole fleet. */
function linesOf(file: string, world: ConfigWorld): readonly ConfigLine[] {
  const files = parsed.get(world) ?? new Map<string, readonly ConfigLine[]>();
  parsed.set(world, files);
  const lines = files.get(file) ?? parseConfig(world.readFile(file) ?? '', file);
  files.set(file, lines);
  return lines;
}

interface Scope {
  readonly active: boolean;
  /** Inside an Include of a block that does not apply: nothing in it can. */
  readonly never: boolean;
  readonly depth: number;
  readonly user: boolean;
}

export function includePath(pattern: string, user: boolean, home: string): string {
  if (pattern === '~' || pattern.startsWith('~/')) return posix.join(home, pattern.slice(1));
  return posix.isAbsolute(pattern)
    ? pattern
    : posix.join(user ? posix.join(home, '.ssh') : '/etc/ssh', pattern);
}

function record(options: RawOptions, line: ConfigLine): void {
  if (times.has(line.keyword) && line.args[0]?.toLowerCase() === 'none') return;
  const value: Sourced = {
    args: verbatim.has(line.keyword) ? [line.rest] : line.args,
    from: `${line.file}:${line.line}`,
  };
  const known = options.get(line.keyword);
  if (known === undefined) options.set(line.keyword, [value]);
  else if (accumulating.has(line.keyword) && !known.some((one) => one.args[0] === value.args[0]))
    known.push(value);
}
