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
import { firstLine, ownMark } from './fleet-file.ts';

/** A file is replaced whole or not at all, links on the way to it are kept, and so is the mode of one that is there. */
const newMode = 0o600;

/** Returns whether our file has hosts of another inventory. Throws where the file is not ours. */
export function holdsOthers({ hosts }: OwnFiles, inventory: string): boolean {
  const text = ownText(hosts);
  return text !== undefined && !text.startsWith(firstLine(inventory));
}

/** Puts the hosts, the keys, and the line that leads to them in place. Throws `ssh.config-write`. */
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

/** Takes all of it away again. Returns the files that were removed, or changed. Throws `ssh.config-write`. */
export function removeFleetFile(files: OwnFiles): readonly string[] {
  ownText(files.hosts);
  ownText(files.keys);
  // First the line: without it nothing looks for the files.
  const changed = change(files.config, (before) => withoutInclude(before, files));
  const removed = [files.hosts, files.keys].filter(removeOwn);
  return [...(changed ? [files.config] : []), ...removed];
}

/** Undefined where there is none. Throws where it does not begin as ours do. */
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

/** Changes a configuration that is the user's: byte for byte what it was but for what `to` does. True: it is another now. */
function change(file: string, to: (latin1: string) => string): boolean {
  const before = read(file, 'latin1');
  const after = to(before ?? '');
  if (after === (before ?? '')) return false;
  const isLink = attempt(file, () => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false);
  // A configuration without a word says what none does.
  if (after === '' && !isLink) attempt(file, () => rmSync(file));
  else replace(file, after, 'latin1', before);
  return true;
}

/** `before`: what was read; a file that says something else by now is not touched. */
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

/** Where the file really is: a link stays one. */
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
    throw notWritten(file, codeOf(error), `make ${file} a file that you may write`, error);
  }
}

function notWritten(file: string, seen: string, next: string, cause?: unknown): FleetError {
  return usageError({ code: 'ssh.config-write', what: `${file} is unchanged`, seen, next }, cause);
}
