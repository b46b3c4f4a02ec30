import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

import { bases } from '../../../src/image/choose.ts';
import { ensureBase, hasImage } from './base-images.ts';
import { contents, digest } from './digest.ts';
import { docker } from './engine.ts';
import { inState, labFiles, registry, type Release } from './paths.ts';
import { cudaBase, dropbearBase, hostBase } from './recipes.ts';
import { say } from './say.ts';

/** The image of a lab host: the release's base with the lab's boot script on it. */
export async function ensureHostImage(release: Release): Promise<string> {
  const base = await ensureBase(hostBase(release));
  return derive(`host-${release}`, base, labFiles('host'));
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

async function derive(name: string, base: string, folder: string): Promise<string> {
  const tag = `azp-fleet-lab/${name}:${digest(base, contents(folder))}`;
  if (await hasImage(tag)) return tag;
  await docker(['build', '--network', 'none', '--build-arg', `BASE=${base}`, '-t', tag, folder], {
    env: { DOCKER_BUILDKIT: '0' },
  });
  return tag;
}
