import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { sha256 } from '../../shared/base/digest.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { Artifact } from '../steps/change.ts';
import type { BuildFolder, Desired } from '../steps/step.ts';
import { loadBuildFolder } from './build-folder.ts';
import { nodeVersion, runtimeArtifact, runtimePath } from './node-runtime.ts';

/** Loads the CLI's uploads to hosts. `paths`: folders of Dockerfiles in the inventory; `now`: wall clock. */
export async function loadArtifacts(
  cacheDirectory: string,
  paths: readonly string[],
  now: number,
): Promise<Desired['artifacts']> {
  const root = await packageRoot();
  const [manager, unit, context] = await Promise.all([
    bundle(join(root, 'dist/manager.mjs')),
    part(join(root, 'units/azp-fleet-manager.service')),
    contextFiles(join(root, 'dockeragent')),
  ]);
  const folders = await loadFolders(cacheDirectory, paths, now);
  return {
    manager,
    unit,
    context,
    folders,
    nodeVersion,
    runtime: (arch, zstd) => runtimeArtifact(cacheDirectory, arch, zstd),
    runtimePath,
  };
}

/** Loads folders of Dockerfiles, by their paths in the inventory. */
export async function loadFolders(
  cacheDirectory: string,
  paths: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, BuildFolder>> {
  const folders = new Map<string, BuildFolder>();
  for (const folder of new Set(paths))
    folders.set(folder, await loadBuildFolder(folder, cacheDirectory, now));
  return folders;
}

async function contextFiles(directory: string): Promise<Desired['artifacts']['context']> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Promise.all(
    files.sort().map(async (file) => ({ path: relative(directory, file), artifact: await text(file) })),
  );
}

/** Returns a file that a plan shows by name and digest, because it is long. */
async function bundle(file: string): Promise<Artifact> {
  const content = await part(file);
  const { length } = Buffer.from(content);
  return { kind: 'file', file, sha256: sha256(content), size: length, gunzip: false };
}

async function text(file: string): Promise<Artifact> {
  const content = await part(file);
  return { kind: 'text', text: content, sha256: sha256(content) };
}

async function part(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new FleetError(
      {
        code: 'artifact.missing',
        what: `a part of this installation is missing: ${file}`,
        next: 'run "npm run build" in a clone; otherwise install azp-fleet again',
      },
      { cause: error },
    );
  });
}

/** Returns the folder with package.json, from src/ and from dist/ alike. */
async function packageRoot(): Promise<string> {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (dirname(directory) !== directory) {
    const names = await readdir(directory);
    if (names.includes('package.json')) return directory;
    directory = dirname(directory);
  }
  throw new Error('no package.json above this file');
}
