import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { buildDeb, type Deb } from './deb.ts';
import { contents, digest } from './digest.ts';
import { dockerPackages } from './docker-packages.ts';
import { dressed, type DressedRelease, type HostRelease } from './dressed.ts';
import {
  cudaDistribution,
  cudaKeyring,
  driverPackages,
  driverVersions,
  olderVersion,
  toolkitPackages,
  ubuntuDistribution,
  ubuntuDriverPackages,
} from './nvidia-packages.ts';
import { inState, labFiles, mirrorRoot, type Release, releases } from './paths.ts';
import { run } from './run.ts';
import { buildRunfile } from './runfile.ts';
import { say } from './say.ts';
import { armoredKey, ensureSigningKey, keyring, sign, stopAgent } from './signing.ts';

const stamp = inState('mirror.digest');
const versionsFile = join(mirrorRoot, 'docker-versions.json');

/** Returns the digest of the repositories' sources; empty before they are built. */
export function repositoriesDigest(): string {
  return existsSync(stamp) ? readFileSync(stamp, 'utf8') : '';
}

/** Docker's version in the repository of each lab host, without packaging suffix: Debian's own version. */
export function dockerVersions(): Readonly<Record<HostRelease, string>> {
  const versions = JSON.parse(readFileSync(versionsFile, 'utf8')) as Record<Release, string>;
  const others = Object.entries(dressed).map(([name, { of }]) => [name, versions[of]]);
  return { ...versions, ...(Object.fromEntries(others) as Record<DressedRelease, string>) };
}

/** Builds and signs the stand-in repositories of NVIDIA and Docker, unless their sources are unchanged. */
export async function ensureRepositories(): Promise<void> {
  const here = ['nvidia-packages.ts', 'docker-packages.ts', 'deb.ts', 'repositories.ts', 'runfile.ts'];
  const now = digest(
    contents(labFiles('gpu')),
    here.map((name) => contents(join(import.meta.dirname, name))),
  );
  if (existsSync(versionsFile) && repositoriesDigest() === now) return;
  say('building the stand-in package repositories');
  await ensureSigningKey();
  const part = `${mirrorRoot}.part`;
  rmSync(part, { recursive: true, force: true });
  await Promise.all([nvidia(part), toolkit(part), dockerRepository(part)]);
  await stopAgent();
  rmSync(mirrorRoot, { recursive: true, force: true });
  renameSync(part, mirrorRoot);
  writeFileSync(stamp, now);
  say('built the stand-in package repositories');
}

async function nvidia(root: string): Promise<void> {
  for (const version of driverVersions) await buildRunfile(version, root);
  for (const release of releases) {
    const folder = join(root, 'nvidia', cudaDistribution[release], 'x86_64');
    const debs = [...driverVersions, olderVersion].flatMap(driverPackages);
    await build([...debs, cudaKeyring(cudaDistribution[release], keyring)], folder);
    copyFileSync(armoredKey, join(folder, release === 'bookworm' ? '3bf863cc.pub' : '8793F200.pub'));
    await flat(folder, 'NVIDIA', 'NVIDIA CUDA');
  }
  const folder = join(root, 'nvidia', ubuntuDistribution, 'x86_64');
  const debs = [...driverVersions, olderVersion].flatMap(ubuntuDriverPackages);
  await build([...debs, cudaKeyring(ubuntuDistribution, keyring)], folder);
  await flat(folder, 'NVIDIA', 'NVIDIA CUDA');
}

async function toolkit(root: string): Promise<void> {
  const folder = join(root, 'toolkit/stable/deb/amd64');
  await build(toolkitPackages(), folder);
  copyFileSync(armoredKey, join(root, 'toolkit/gpgkey'));
  await flat(folder, 'NVIDIA', 'NVIDIA Container Toolkit');
}

async function dockerRepository(root: string): Promise<void> {
  const top = join(root, 'docker/debian');
  const versions: Partial<Record<Release, string>> = {};
  for (const release of releases) {
    const { version, debs } = await dockerPackages(release);
    versions[release] = version;
    const pool = `dists/${release}/pool/stable/amd64`;
    await build(debs, join(top, pool));
    const index = join(top, 'dists', release, 'stable/binary-amd64');
    mkdirSync(index, { recursive: true });
    await shell('apt-ftparchive packages "$1" > "$2/Packages" && gzip -kf "$2/Packages"', top, pool, index);
    await release_(join(top, 'dists', release), {
      Origin: 'Docker',
      Label: 'Docker CE',
      Suite: release,
      Codename: release,
      Components: 'stable',
      Architectures: 'amd64',
    });
  }
  copyFileSync(armoredKey, join(top, 'gpg'));
  await asUbuntu(root);
  writeFileSync(join(root, 'docker-versions.json'), JSON.stringify(versions));
}

/** Serves Docker's packages for Debian 12 as those for Ubuntu 24.04. */
async function asUbuntu(root: string): Promise<void> {
  const dists = join(root, 'docker/ubuntu/dists');
  mkdirSync(dists, { recursive: true });
  cpSync(join(root, 'docker/debian/dists/bookworm'), join(dists, 'noble'), { recursive: true });
  const index = join(dists, 'noble/stable/binary-amd64');
  await shell('sed -i s:dists/bookworm/:dists/noble/: Packages && gzip -kf Packages', index);
  await release_(join(dists, 'noble'), {
    Origin: 'Docker',
    Label: 'Docker CE',
    Suite: 'noble',
    Codename: 'noble',
    Components: 'stable',
    Architectures: 'amd64',
  });
  copyFileSync(armoredKey, join(root, 'docker/ubuntu/gpg'));
}

async function build(debs: readonly Deb[], folder: string): Promise<void> {
  for (const deb of debs) await buildDeb(deb, folder);
}

async function flat(folder: string, origin: string, label: string): Promise<void> {
  await shell('apt-ftparchive packages . > Packages && gzip -kf Packages', folder);
  await release_(folder, { Origin: origin, Label: label, Architectures: 'amd64' });
}

async function release_(folder: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const options = Object.entries(fields).flatMap(([name, value]) => [
    '-o',
    `APT::FTPArchive::Release::${name}=${value}`,
  ]);
  const { stdout } = await run('apt-ftparchive', [...options, 'release', '.'], { cwd: folder });
  writeFileSync(join(folder, 'Release'), stdout);
  await sign(join(folder, 'Release'));
}

/** Runs shell text in a folder; the other arguments are "$1", "$2". */
async function shell(text: string, folder: string, ...args: readonly string[]): Promise<void> {
  await run('/bin/sh', ['-ec', text, 'sh', ...args], { cwd: folder });
}
