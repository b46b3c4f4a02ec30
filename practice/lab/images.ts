import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

import { bases } from '../../src/shared/image/choose.ts';
import { cudaBase, dressedBase, dropbearBase, ensureBase, hasImage, hostBase } from './base-images.ts';
import { contents, digest } from './digest.ts';
import { dressed, isDressed, type HostRelease } from './dressed.ts';
import { docker } from './engine.ts';
import { inState, labFiles, network, registry } from './paths.ts';
import { say } from './say.ts';

/** The image of a lab host: the release's base with the lab's boot script on it, and what dresses it up. */
export async function ensureHostImage(release: HostRelease): Promise<string> {
  if (!isDressed(release))
    return derive(`host-${release}`, await ensureBase(hostBase(release)), labFiles('host'));
  const dress = dressed[release];
  const base = await ensureBase(dressedBase(release, dress));
  const image = await derive(`host-${release}`, base, labFiles('host'));
  return derive(release, image, labFiles(release), await dress.prepare(image));
}

/** The same with dropbear as its only SSH server. */
export async function ensureDropbearImage(): Promise<string> {
  const host = await derive('host-dropbear', await ensureBase(dropbearBase), labFiles('host'));
  return derive('dropbear', host, labFiles('dropbear'));
}

/** Fills the lab's registry with stand-ins for the vendor's CUDA bases. */
export async function ensureRegistryImages(): Promise<void> {
  const image = await derive('cuda', await ensureBase(cudaBase), labFiles('cuda'));
  const tags = baseTags();
  const stamp = inState('registry.digest');
  const now = digest(image, tags);
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return;
  say(`filling the lab's registry (${tags.length} tags of one image)`);
  rmSync(stamp, { force: true });
  for (const tag of tags) {
    await docker(['tag', image, `${registry}/${tag}`]);
    await docker(['push', `${registry}/${tag}`]);
    await docker(['rmi', `${registry}/${tag}`]);
  }
  writeFileSync(stamp, now);
}

/** The tags that the product may choose, from its own table. */
function baseTags(): string[] {
  const { repository, flavour, cuda, cpu } = bases;
  const tags = cuda.map(({ version, os }) => `${repository}:${version}-${flavour}-${os[0] ?? ''}`);
  return [...tags, cpu.tag, `library/${cpu.tag}`];
}

/** The system's own image in the lab's registry, as `debian:12` is in Docker's. */
export async function ensureSystemImage(release: HostRelease): Promise<void> {
  const image = isDressed(release)
    ? await derive(`system-${release}`, await ensureHostImage(release), labFiles('system'))
    : await ensureBase(hostBase(release));
  const name = `${registry}/${systemImages[release]}`;
  await docker(['tag', image, name]);
  await docker(['push', name]);
  await docker(['rmi', name]);
}

const systemImages = {
  bookworm: 'library/debian:12',
  trixie: 'library/debian:13',
  rocky9: 'rockylinux/rockylinux:9',
} as const satisfies Record<HostRelease, string>;

/** `settings`: arguments of the Dockerfile, which reads from the lab's mirror where there are any. */
async function derive(
  name: string,
  base: string,
  folder: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<string> {
  const given = Object.entries(settings);
  const tag = `azp-fleet-lab/${name}:${digest(base, contents(folder), ...given)}`;
  if (await hasImage(tag)) return tag;
  const arguments_ = [['BASE', base] as const, ...given].flatMap(([key, value]) => [
    '--build-arg',
    `${key}=${value}`,
  ]);
  const net = given.length === 0 ? 'none' : network.name;
  await docker(['build', '--network', net, ...arguments_, '-t', tag, folder], {
    env: { DOCKER_BUILDKIT: '0' },
  });
  return tag;
}
