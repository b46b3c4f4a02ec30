// Packs the stand-in agent as the real one is published: vsts-agent-linux-ARCH-VERSION.tar.gz. The names and the
// layout are the real ones; the programs inside are ours (see the header of each file).
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import {
  cp,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const source = join(dirname(fileURLToPath(import.meta.url)), 'root');
const brought = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules/.bin/node');
/** The Node that the checkout brought along, else the one that runs this. */
const runtime = existsSync(brought) ? realpathSync(brought) : process.execPath;

export interface AgentPackage {
  /** Below the mirror's folder, for all versions; it represents the content, so that checkouts do not change each other's packages. */
  readonly folder: string;
  readonly sha256: string;
}

/** Writes the tarball below `mirror` as the vendor lays it out, FOLDER/agent/VERSION/FILE; packed once for the same input. */
export async function packAgent(mirror: string, version: string): Promise<AgentPackage> {
  const folder = (await contentKey()).slice(0, 12);
  const file = join(mirror, folder, 'agent', version, `vsts-agent-linux-${process.arch}-${version}.tar.gz`);
  if (!existsSync(file)) await pack(file, version);
  const sha256 = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  return { folder, sha256 };
}

async function pack(file: string, version: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const staging = await mkdtemp(join(tmpdir(), 'agent-'));
  try {
    await installAgent(staging, version);
    const reproducible = [
      '--sort=name',
      '--mtime=@0',
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--dereference',
    ];
    const compress = '--use-compress-program=gzip -n';
    await run('tar', [...reproducible, compress, '-C', staging, '-cf', `${file}.new`, '.']);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  await rename(`${file}.new`, file);
}

/** An unpacked agent, with the runtime linked instead of copied. */
export async function installAgent(folder: string, version: string): Promise<void> {
  await cp(source, folder, { recursive: true });
  await writeFile(join(folder, 'bin', 'version'), `${version}\n`);
  await mkdir(join(folder, 'externals', 'node', 'bin'), { recursive: true });
  await symlink(runtime, join(folder, 'externals', 'node', 'bin', 'node'));
}

async function contentKey(): Promise<string> {
  const hash = createHash('sha256');
  const { size, mtimeMs } = await stat(runtime);
  hash.update(`${size} ${mtimeMs}\n`);
  const files = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = files.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths.sort()) hash.update(path.slice(source.length)).update(await readFile(path));
  return hash.digest('hex');
}
