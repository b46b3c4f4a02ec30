import {
  closeSync,
  fchmodSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

import { codeOf, FleetError, usageError } from '../../shared/base/errors.ts';
import { type OwnFiles, withInclude, withoutInclude } from './config/user-config.ts';
import { aliasOf, firstLine, ownMark } from './fleet-file.ts';

/** Mode of new files. Files are replaced atomically; symbolic links and the mode of an existing file are kept. */
const newMode = 0o600;

/** Returns whether our file has hosts of another inventory. Throws if azp-fleet did not write the file. */
export function holdsOthers({ hosts }: OwnFiles, inventory: string): boolean {
  const text = ownText(hosts);
  return text !== undefined && !text.startsWith(firstLine(inventory));
}

/** Writes the hosts, the keys, and the Include line. Throws `ssh.config-write`. */
export function writeFleetFile(
  files: OwnFiles,
  { text, keys }: { readonly text: string; readonly keys: string },
): void {
  ownText(files.hosts);
  ownText(files.keys);
  attempt(dirname(files.config), () => mkdirSync(dirname(files.config), { recursive: true, mode: 0o700 }));
  if (keys === '') removeOwn(files.keys);
  else replace(files.keys, `${ownMark}\n${keys}`, 'utf8');
  replace(files.hosts, text, 'utf8');
  change(files.config, (before) => withInclude(before, files));
}

/**
 * Removes the hosts, the keys and the Include line. Returns the removed and changed files. Throws `ssh.config-write`.
 */
export function removeFleetFile(files: OwnFiles): readonly string[] {
  ownText(files.hosts);
  ownText(files.keys);
  // First the line: ssh must not look for removed files.
  const changed = change(files.config, (before) => withoutInclude(before, files));
  const removed = [files.hosts, files.keys].filter(removeOwn);
  return [...(changed ? [files.config] : []), ...removed];
}

/** Lines in one of our files about one host: its block, or its pinned keys. */
export interface HostLines {
  readonly file: string;
  readonly host: string;
  readonly lines: number;
  /** True if the files are of another inventory, which may still have the host. */
  readonly ofOther: boolean;
}

/** Returns the lines of our files about these hosts. A file that azp-fleet did not write has none. */
export function linesAbout(
  files: OwnFiles,
  inventory: string,
  hosts: readonly string[],
): readonly HostLines[] {
  const ofOther = areOfOther(files, inventory);
  return [files.hosts, files.keys].flatMap((file) => {
    const found = Map.groupBy(sectionsOf(file, files), ({ host }) => host);
    return hosts.flatMap((host): HostLines[] => {
      const own = found.get(nameIn(file, files, host)) ?? [];
      const lines = own.flatMap(({ text }) => text.trimEnd().split('\n')).length;
      return lines === 0 ? [] : [{ file, host, lines, ofOther }];
    });
  });
}

/** Removes the lines of these hosts from our files; other bytes stay unchanged. Throws `ssh.config-write`. */
export function dropLines(files: OwnFiles, inventory: string, hosts: readonly string[]): void {
  if (areOfOther(files, inventory)) return;
  for (const file of [files.hosts, files.keys]) {
    const dropped = new Set<string | undefined>(hosts.map((host) => nameIn(file, files, host)));
    const all = sectionsOf(file, files);
    const kept = all.filter(({ host }) => !dropped.has(host));
    if (kept.length === all.length) continue;
    if (file === files.keys && kept.every(({ host }) => host === undefined)) removeOwn(file);
    else replace(file, textOf(kept), 'utf8', textOf(all));
  }
}

function areOfOther({ hosts }: OwnFiles, inventory: string): boolean {
  return read(hosts, 'utf8')?.startsWith(firstLine(inventory)) !== true;
}

/** A part of one of our files. */
interface Section {
  /** The host that it is about, as it is named there; undefined: none. */
  readonly host: string | undefined;
  readonly text: string;
}

/** Splits one of our files into blocks, or lines of keys. */
function sectionsOf(file: string, { keys }: OwnFiles): readonly Section[] {
  const text = read(file, 'utf8');
  if (text?.startsWith(ownMark) !== true) return [];
  const [start, host] = file === keys ? [/^/m, /^([^#\s]\S*) /] : [/^(?=Host )/m, /^Host (.+)/];
  return text.split(start).map((part) => ({ host: host.exec(part)?.[1], text: part }));
}

function textOf(sections: readonly Section[]): string {
  return sections.map(({ text }) => text).join('');
}

/** Returns the name of a host in one of our files. */
function nameIn(file: string, { keys }: OwnFiles, host: string): string {
  return file === keys ? aliasOf(host) : host;
}

/** Reads one of our files; undefined if there is none. Throws if azp-fleet did not write it. */
function ownText(file: string): string | undefined {
  const text = read(file, 'utf8');
  if (text === undefined || text.startsWith(ownMark)) return text;
  throw notWritten(
    file,
    'it was not written by azp-fleet',
    `move it out of the way: mv ${file} ${file}.mine`,
  );
}

function removeOwn(file: string): boolean {
  if (read(file, 'utf8') === undefined) return false;
  attempt(file, () => rmSync(file));
  return true;
}

/** Changes the user's configuration by `to`; other bytes stay unchanged. Returns whether it changed. */
function change(file: string, to: (latin1: string) => string): boolean {
  const before = read(file, 'latin1');
  const after = to(before ?? '');
  if (after === (before ?? '')) return false;
  const isLink = attempt(file, () => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false);
  // An empty configuration means the same as none.
  if (after === '' && !isLink) attempt(file, () => rmSync(file));
  else replace(file, after, 'latin1', before);
  return true;
}

/** Replaces a file. `before`: its text when it was read; throws if it has changed since. */
function replace(file: string, text: string, encoding: 'utf8' | 'latin1', before?: string): void {
  attempt(file, () => {
    const target = behindLinks(file);
    const mode = (statSync(target, { throwIfNoEntry: false })?.mode ?? newMode) & 0o777;
    const draft = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
    try {
      const handle = openSync(draft, 'wx', newMode);
      try {
        writeFileSync(handle, text, encoding);
        fchmodSync(handle, mode);
        fsyncSync(handle);
      } finally {
        closeSync(handle);
      }
      if (before !== undefined && read(file, encoding) !== before)
        throw notWritten(file, 'another process changed it', 'run it again');
      renameSync(draft, target);
    } finally {
      rmSync(draft, { force: true });
    }
  });
}

/** Returns the target of symbolic links, which are kept. */
function behindLinks(file: string): string {
  const isThere = lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  return isThere ? realpathSync(file) : file;
}

function read(file: string, encoding: 'utf8' | 'latin1'): string | undefined {
  return attempt(file, () => {
    try {
      return readFileSync(file, encoding);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  });
}

function attempt<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof FleetError) throw error;
    throw notWritten(file, codeOf(error), `make ${file} writable`, error);
  }
}

function notWritten(file: string, seen: string, next: string, cause?: unknown): FleetError {
  return usageError({ code: 'ssh.config-write', what: `${file} is unchanged`, seen, next }, cause);
}
