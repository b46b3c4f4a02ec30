import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';

import { inState } from './paths.ts';
import { ensurePackages } from './machine.ts';
import { run } from './run.ts';

/** What is on a host's small disk: where Docker, and where the manager keep what they have. */
const folders = { '/var/lib/docker': 'docker', '/var/lib/azp-fleet': 'azp-fleet' } as const;

const imageOf = (container: string): string => inState('disks', `${container}.img`);
const mountOf = (container: string): string => inState('disks', container);

export interface SmallDisk {
  readonly mib: number;
  /** ext4 without room for root alone; on btrfs Docker can hold each container to a size. */
  readonly type: 'ext4' | 'btrfs';
}

const makers = { ext4: ['mkfs.ext4', '-q', '-m', '0'], btrfs: ['mkfs.btrfs', '-q'] } as const;

/**
 * A disk of a host's own, so that a job can fill it and this machine does not notice. Gives the engine's arguments that
 * put it below the host's folders.
 */
export async function smallDisk(container: string, { mib, type }: SmallDisk): Promise<string[]> {
  const point = mountOf(container);
  if (!existsSync(imageOf(container))) {
    if (type === 'btrfs') await ensurePackages({ 'btrfs-progs': 'mkfs.btrfs' });
    const [maker, ...options] = makers[type];
    mkdirSync(point, { recursive: true });
    await run('truncate', ['-s', `${mib}M`, imageOf(container)]);
    await run(maker, [...options, imageOf(container)]);
  }
  const { code } = await run('mountpoint', ['-q', point], { allowFailure: true });
  if (code !== 0) await run('mount', ['-o', 'loop', imageOf(container), point]);
  if (type === 'btrfs') await keepCounting(point);
  return Object.entries(folders).flatMap(([inside, name]) => {
    mkdirSync(`${point}/${name}`, { recursive: true, mode: 0o710 });
    return ['--volume', `${point}/${name}:${inside}`];
  });
}

/**
 * Turns quota on as Docker would, and keeps it counting: from Linux 6.1 on, removing a subvolume (as Docker does with every
 * container) otherwise ends the counting, and limits are no longer held.
 */
async function keepCounting(point: string): Promise<void> {
  await run('btrfs', ['quota', 'enable', point]);
  const { stdout } = await run('findmnt', ['-no', 'UUID', point]);
  const threshold = `/sys/fs/btrfs/${stdout.trim()}/qgroups/drop_subtree_threshold`;
  if (existsSync(threshold)) writeFileSync(threshold, '8');
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
