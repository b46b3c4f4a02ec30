import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';

import { inState } from './paths.ts';
import { run } from './run.ts';

/** What is on a host's small disk: where Docker, and where the manager keep what they have. */
const folders = { '/var/lib/docker': 'docker', '/var/lib/azp-fleet': 'azp-fleet' } as const;

const imageOf = (container: string): string => inState('disks', `${container}.img`);
const mountOf = (container: string): string => inState('disks', container);

/**
 * A disk of a host's own (ext4 without room for root alone), so that a job can fill it and this machine does not
 * notice. Gives the engine's arguments that put it below the host's folders.
 */
export async function smallDisk(container: string, mib: number): Promise<string[]> {
  const point = mountOf(container);
  if (!existsSync(imageOf(container))) {
    mkdirSync(point, { recursive: true });
    await run('truncate', ['-s', `${mib}M`, imageOf(container)]);
    await run('mkfs.ext4', ['-q', '-m', '0', imageOf(container)]);
  }
  const { code } = await run('mountpoint', ['-q', point], { allowFailure: true });
  if (code !== 0) await run('mount', ['-o', 'loop', imageOf(container), point]);
  return Object.entries(folders).flatMap(([inside, name]) => {
    mkdirSync(`${point}/${name}`, { recursive: true, mode: 0o710 });
    return ['--volume', `${point}/${name}:${inside}`];
  });
}

/** Unmounting frees the loop device, too. */
export async function removeSmallDisk(container: string): Promise<void> {
  if (!existsSync(imageOf(container))) return;
  await run('umount', [mountOf(container)], { allowFailure: true });
  rmSync(mountOf(container), { recursive: true, force: true });
  rmSync(imageOf(container), { force: true });
}

/** Those of hosts that are gone, too. */
export async function removeSmallDisks(prefix: string): Promise<void> {
  const names = existsSync(inState('disks')) ? readdirSync(inState('disks')) : [];
  for (const name of names.filter((each) => each.startsWith(`${prefix}-`) && each.endsWith('.img')))
    await removeSmallDisk(name.slice(0, -'.img'.length));
}
