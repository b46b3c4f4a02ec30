import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { codeOf, usageError } from '../../shared/base/errors.ts';
import { shown } from '../../shared/base/shown.ts';
import type { Ignore } from '../../shared/image/dockerignore.ts';

/** One file of a build context. */
export interface FolderFile {
  /** In the context, with `/`. */
  readonly path: string;
  /** On this machine. */
  readonly from: string;
  /** Without write permission for others than its owner: that comes of this machine's umask, not of the folder. */
  readonly mode: number;
}

/** Bytes: it goes to every host that builds, through the CLI's and the manager's memory. */
const mostBytes = 64 * 1024 ** 2;
const mostFiles = 10_000;

/** Docker takes these whatever .dockerignore says. */
const always = new Set(['Dockerfile', '.dockerignore']);

/**
 * The files of a folder that .dockerignore leaves in, in the order of their names. Links, sockets and the like are
 * refused: what they stand for on this machine is nothing on a host.
 */
export async function filesOf(folder: string, ignore: Ignore): Promise<readonly FolderFile[]> {
  const found: FolderFile[] = [];
  let bytes = 0;
  const walk = async (below: string): Promise<void> => {
    for (const entry of (await list(folder, below)).sort()) {
      const path = below === '' ? entry : `${below}/${entry}`;
      const from = join(folder, path);
      const ignored = !always.has(path) && ignore.ignores(path);
      if (ignored && !ignore.hasExceptions) continue;
      const stat = await lstat(from);
      if (stat.isDirectory()) await walk(path);
      else if (ignored) continue;
      else if (!stat.isFile())
        throw refused(folder, path, stat.isSymbolicLink() ? 'a link' : 'no ordinary file');
      else {
        if (/[\p{Cc}\\]/u.test(path)) throw refused(folder, path, 'a name that cannot be kept');
        found.push({ path, from, mode: stat.mode & 0o755 });
        bytes += stat.size;
      }
      if (found.length > mostFiles) throw tooMuch(folder, `more than ${mostFiles} files`);
      if (bytes > mostBytes) throw tooMuch(folder, `more than ${mostBytes / 1024 ** 2} MiB at ${path}`);
    }
  };
  await walk('');
  return found;
}

async function list(folder: string, below: string): Promise<string[]> {
  return readdir(join(folder, below)).catch((error: unknown) => {
    throw usageError({
      code: 'image.folder',
      step: 'image',
      what: `the folder ${shown(join(folder, below))} cannot be read`,
      seen: codeOf(error),
      next: 'correct `dockerfile:` in the inventory, or put the folder there',
    });
  });
}

function refused(folder: string, path: string, what: string): Error {
  return usageError({
    code: 'image.folder',
    step: 'image',
    what: `${shown(path)} in ${shown(folder)} is ${what}`,
    expected: 'ordinary files and folders',
    next: `put the file itself there, or leave it out in ${shown(join(folder, '.dockerignore'))}`,
  });
}

function tooMuch(folder: string, seen: string): Error {
  return usageError({
    code: 'image.folder',
    step: 'image',
    what: `the folder ${shown(folder)} is too large to be built on the hosts`,
    expected: `at most ${mostBytes / 1024 ** 2} MiB in ${mostFiles} files`,
    seen,
    next: `leave out what the build does not need in ${shown(join(folder, '.dockerignore'))}, and let the Dockerfile fetch the rest`,
  });
}
