import { lstat, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { sha256 } from '../../shared/base/digest.ts';
import { codeOf, usageError } from '../../shared/base/errors.ts';
import { excerpt } from '../../shared/base/foreign-text.ts';
import { tar } from '../../shared/base/tar.ts';
import { dockerfileMistake } from './dockerfile.ts';
import { dockerignore, type Ignore } from './dockerignore.ts';
import type { BuildFolder } from '../steps/step.ts';

/**
 * Packs the folder of a team's Dockerfile into an archive in the cache, named by its content: the same files make the same archive on
 * every machine. `now`: wall clock, which dates files. Rejects with a usage error where Docker or a host cannot use the folder.
 */
export async function loadBuildFolder(
  folder: string,
  cacheDirectory: string,
  now: number,
): Promise<BuildFolder> {
  const files = await filesOf(folder, await ignoreOf(folder));
  await checkDockerfile(folder, files);
  const archive = await archiveOf(files);
  const digest = sha256(archive);
  const file = join(cacheDirectory, 'folders', `${digest}.tar`);
  await forgetOld(join(cacheDirectory, 'folders'), now);
  await writeFile(`${file}.new`, archive, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return {
    name: nameOf(folder),
    files: files.length,
    artifact: { kind: 'file', file, sha256: digest, size: archive.length, gunzip: false },
  };
}

const keptForMs = 7 * 24 * 3_600_000;

/** Creates the cache, and removes archives that are older than a week. */
async function forgetOld(cache: string, now: number): Promise<void> {
  await mkdir(cache, { recursive: true });
  for (const name of await readdir(cache)) {
    const { mtimeMs } = await stat(join(cache, name));
    if (mtimeMs < now - keptForMs) await rm(join(cache, name), { force: true });
  }
}

async function archiveOf(files: readonly FolderFile[]): Promise<Buffer> {
  const parents = files.flatMap(({ path }) =>
    path
      .split('/')
      .slice(0, -1)
      .map((_, index, parts) => `${parts.slice(0, index + 1).join('/')}/`),
  );
  const entries = await Promise.all(
    files.map(async ({ path, from, mode }) => ({ path, mode, content: await readFile(from) })),
  );
  return tar(
    entries,
    [...new Set(parents)].sort().map((path) => ({ path })),
  );
}

async function ignoreOf(folder: string): Promise<Ignore> {
  const text = await readFile(join(folder, '.dockerignore'), 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return '';
    throw unusable(folder, 'its .dockerignore cannot be read', codeOf(error));
  });
  try {
    return dockerignore(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw unusable(folder, 'its .dockerignore has an invalid pattern', error.message);
  }
}

async function checkDockerfile(folder: string, files: readonly FolderFile[]): Promise<void> {
  const dockerfile = files.find(({ path }) => path === 'Dockerfile');
  if (dockerfile === undefined) throw unusable(folder, 'it has no Dockerfile');
  const mistake = dockerfileMistake(await readFile(dockerfile.from, 'utf8'));
  if (mistake === undefined) return;
  const what = `the Dockerfile in ${excerpt(folder)} cannot be used: ${mistake.what}`;
  throw usageError({ code: 'image.dockerfile', step: 'image', ...mistake, what });
}

function unusable(folder: string, why: string, seen?: string): Error {
  return usageError({
    code: 'image.folder',
    step: 'image',
    what: `the folder ${excerpt(folder)} cannot be built: ${why}`,
    expected: 'a folder with a Dockerfile that begins with ARG BASE and FROM ${BASE}',
    ...(seen === undefined ? {} : { seen }),
    next: 'correct the folder, or `dockerfile:` in the inventory',
  });
}

/** Part of the image's tag. */
function nameOf(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return name.slice(0, 40).replace(/-+$/, '') || 'own';
}

/** One file of a build context. */
interface FolderFile {
  /** Path in the context, with `/`. */
  readonly path: string;
  /** Path on this machine. */
  readonly from: string;
  /** Without write permission for group and others, which depends on this machine's umask. */
  readonly mode: number;
}

/** Limits: the CLI and the manager of every host that builds hold the folder in memory. */
const mostBytes = 64 * 1024 ** 2;
const mostFiles = 10_000;

/** Docker includes these whatever .dockerignore says. */
const always = new Set(['Dockerfile', '.dockerignore']);

/**
 * Returns the files of a folder that .dockerignore does not exclude, in the order of their names. Throws at links, sockets and
 * devices, which have no meaning on a host.
 */
async function filesOf(folder: string, ignore: Ignore): Promise<readonly FolderFile[]> {
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
        throw refused(folder, path, stat.isSymbolicLink() ? 'a link' : 'not an ordinary file');
      else {
        if (/[\p{Cc}\\]/u.test(path))
          throw refused(folder, path, 'a file whose name has control characters or a backslash');
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
      what: `the folder ${excerpt(join(folder, below))} cannot be read`,
      seen: codeOf(error),
      next: 'correct `dockerfile:` in the inventory, or put the folder there',
    });
  });
}

function refused(folder: string, path: string, what: string): Error {
  return usageError({
    code: 'image.folder',
    step: 'image',
    what: `${excerpt(path)} in ${excerpt(folder)} is ${what}`,
    expected: 'ordinary files and folders',
    next: `put the file itself there, or leave it out in ${excerpt(join(folder, '.dockerignore'))}`,
  });
}

function tooMuch(folder: string, seen: string): Error {
  return usageError({
    code: 'image.folder',
    step: 'image',
    what: `the folder ${excerpt(folder)} is too large to be built on the hosts`,
    expected: `at most ${mostBytes / 1024 ** 2} MiB in ${mostFiles} files`,
    seen,
    next: `leave out what the build does not need in ${excerpt(join(folder, '.dockerignore'))}, and let the Dockerfile fetch the rest`,
  });
}
