import { lstatSync, mkdtempSync, rmSync, type Stats, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

import type { Context } from '../shared/base/context.ts';
import type { Problem } from '../shared/base/errors.ts';
import { quote } from '../shared/base/shell.ts';
import { warn } from './render/problem.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** A folder of the program on this machine. */
export interface OwnFolder {
  readonly path: string;
  /** Why it must be neither read nor written: another user may have put files there. */
  readonly refused?: Pick<Problem, 'what' | 'next'>;
}

/** Returns the folder of debug logs, the last outcomes and drafts: `azp-fleet` below $XDG_STATE_HOME. */
export function stateFolder(env: Environment, home: string): OwnFolder {
  return checked('XDG_STATE_HOME', join(home, '.local/state'), env['XDG_STATE_HOME']);
}

/**
 * Returns the folder of files for hosts: `azp-fleet` below $XDG_CACHE_HOME. If other users may write there, it warns and
 * returns an empty folder for this run: hosts run programs from it as root.
 */
export function cacheFolder({ env, home, stderr }: Pick<Context, 'env' | 'home' | 'stderr'>): string {
  const { path, refused } = checked('XDG_CACHE_HOME', join(home, '.cache'), env['XDG_CACHE_HOME']);
  if (refused === undefined) return path;
  warn(stderr, refused);
  const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** As in the XDG specification, an empty variable and a relative path count as unset. */
function checked(variable: string, fallback: string, value = ''): OwnFolder {
  const path = join(isAbsolute(value) ? value : fallback, 'azp-fleet');
  const why = whyShared(path);
  if (why === undefined) return { path };
  return { path, refused: { what: `${path} is not used: ${why.what}`, next: why.next(variable) } };
}

interface Shared {
  readonly what: string;
  readonly next: (variable: string) => string;
}

/**
 * Returns why other users may have put files in a folder; undefined: they cannot have. The folder must belong to the
 * effective user, who alone may write; a link must have such a target. The folder above may be root's, as /tmp is, and
 * its group may write: on many systems each user has a group of the same name.
 */
function whyShared(path: string): Shared | undefined {
  const [link, folder] = [found(path, lstatSync), found(path, statSync)];
  const above = nearest(dirname(path));
  return (
    (link && ofOther(path, link)) ??
    (folder && (ofOther(path, folder) ?? writable(path, folder, 0o022))) ??
    (above.stat.uid === 0 ? undefined : ofOther(above.path, above.stat)) ??
    // In a sticky folder nobody can replace the entries of others.
    ((above.stat.mode & 0o1000) === 0 ? writable(above.path, above.stat, 0o002) : undefined)
  );
}

/** Returns the nearest folder that exists. */
function nearest(path: string): { readonly path: string; readonly stat: Stats } {
  const stat = found(path, statSync);
  return stat === undefined ? nearest(dirname(path)) : { path, stat };
}

/** Returns undefined for a path that cannot be read either: writing to it fails, and says why. */
function found(path: string, read: (path: string) => Stats): Stats | undefined {
  try {
    return read(path);
  } catch {
    return undefined;
  }
}

function ofOther(path: string, { uid }: Stats): Shared | undefined {
  if (uid === process.geteuid?.()) return undefined;
  return {
    what: `${path} belongs to another user (uid ${uid})`,
    next: (variable) => `set ${variable} to a folder that only this user can write; with sudo, use sudo -H`,
  };
}

function writable(path: string, { mode }: Stats, others: number): Shared | undefined {
  if ((mode & others) === 0) return undefined;
  return {
    what: `other users may write to ${path} (mode 0${(mode & 0o777).toString(8)})`,
    next: () => `check its files, then: chmod go-w ${quote(path)}`,
  };
}
