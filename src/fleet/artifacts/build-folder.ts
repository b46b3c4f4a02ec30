import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { sha256 } from '../../shared/base/digest.ts';
import { codeOf, usageError } from '../../shared/base/errors.ts';
import { shown } from '../../shared/base/shown.ts';
import { tar } from '../../shared/base/tar.ts';
import { dockerfileMistake } from '../../shared/image/dockerfile.ts';
import { dockerignore, type Ignore } from '../../shared/image/dockerignore.ts';
import type { BuildFolder } from '../steps/step.ts';
import { filesOf, type FolderFile } from './folder-files.ts';

/**
 * The folder of a team's Dockerfile as one archive in the cache, named by its content: the same files make the same
 * archive on every machine. `now`: by the wall clock, which dates files. Rejects with a usage error that says what Docker, or a host, could not take.
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

/** Makes the folder, and takes out what no command has read for a week. */
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
    throw unusable(folder, 'its .dockerignore has a pattern that cannot be', error.message);
  }
}

async function checkDockerfile(folder: string, files: readonly FolderFile[]): Promise<void> {
  const dockerfile = files.find(({ path }) => path === 'Dockerfile');
  if (dockerfile === undefined) throw unusable(folder, 'it has no Dockerfile');
  const mistake = dockerfileMistake(await readFile(dockerfile.from, 'utf8'));
  if (mistake === undefined) return;
  const what = `the Dockerfile in ${shown(folder)} cannot be used: ${mistake.what}`;
  throw usageError({ code: 'image.dockerfile', step: 'image', ...mistake, what });
}

function unusable(folder: string, why: string, seen?: string): Error {
  return usageError({
    code: 'image.folder',
    step: 'image',
    what: `the folder ${shown(folder)} cannot be built: ${why}`,
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
