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
const brought = join(dirname(fileURLToPath(import.meta.url)), '../../../node_modules/.bin/node');
/** The Node that the checkout brought along, else the one that runs this. */
const runtime = existsSync(brought) ? realpathSync(brought) : process.execPath;

export interface AgentPackage {
  readonly file: string;
  readonly sha256: string;
}

/** Writes the tarball and FILE.sha256 into the folder; the same input gives the same bytes, and is packed once. */
export async function packAgent(folder: string, version: string): Promise<AgentPackage> {
  const file = join(folder, `vsts-agent-linux-${process.arch}-${version}.tar.gz`);
  const key = await contentKey(version);
  const known = existsSync(file) ? await readFile(`${file}.key`, 'utf8').catch(() => '') : '';
  if (known === key) return { file, sha256: (await readFile(`${file}.sha256`, 'utf8')).split(' ')[0] ?? '' };
  await mkdir(folder, { recursive: true });
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
  const sha256 = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  await writeFile(`${file}.sha256`, `${sha256}  ${file.slice(folder.length + 1)}\n`);
  await writeFile(`${file}.key`, key);
  return { file, sha256 };
}

/** An unpacked agent, with the runtime linked instead of copied. */
export async function installAgent(folder: string, version: string): Promise<void> {
  await cp(source, folder, { recursive: true });
  await writeFile(join(folder, 'bin', 'version'), `${version}\n`);
  await mkdir(join(folder, 'externals', 'node', 'bin'), { recursive: true });
  await symlink(runtime, join(folder, 'externals', 'node', 'bin', 'node'));
}

async function contentKey(version: string): Promise<string> {
  const hash = createHash('sha256').update(`${version}\n`);
  const { size, mtimeMs } = await stat(runtime);
  hash.update(`${runtime} ${size} ${mtimeMs}\n`);
  const files = await readdir(source, { recursive: true, withFileTypes: true });
  const paths = files.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  for (const path of paths.sort()) hash.update(path.slice(source.length)).update(await readFile(path));
  return hash.digest('hex');
}
