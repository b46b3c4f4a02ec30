import { statfs } from 'node:fs/promises';
import type { OwnContainer, OwnImage } from '../../shared/engine/engine.ts';
import type { Cause } from '../model.ts';

const gib = 1024 ** 3;

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** 0 to 1; file systems without a fixed number of inodes report 1. */
  readonly freeInodes: number;
}

export async function diskSpace(path: string): Promise<DiskSpace> {
  const found = await statfs(path);
  return {
    freeBytes: found.bavail * found.bsize,
    totalBytes: found.blocks * found.bsize,
    freeInodes: found.files === 0 ? 1 : found.ffree / found.files,
  };
}

/**
 * `tight`: images that are no longer needed go. `full`: nothing new is started until a quarter more than the limit is
 * free again, so that a disk at the limit does not make slots come and go. Small disks count in per cent.
 */
export function diskState(space: DiskSpace, before: 'fine' | 'tight' | 'full'): 'fine' | 'tight' | 'full' {
  const { freeBytes, totalBytes, freeInodes } = space;
  const pauseBelow = Math.min(0.04 * totalBytes, 10 * gib) * (before === 'full' ? 1.25 : 1);
  if (freeBytes < pauseBelow || freeInodes < 0.02) return 'full';
  return freeBytes < Math.min(0.12 * totalBytes, 50 * gib) ? 'tight' : 'fine';
}

export function diskCause(space: DiskSpace, path: string): Cause {
  const free = (space.freeBytes / gib).toFixed(1);
  const what =
    space.freeInodes < 0.02
      ? `the disk of Docker (${path}) has no inodes left`
      : `the disk of Docker (${path}) is full: ${free} GiB free`;
  return { code: 'disk.full', what, next: 'free space there; docker system df shows what uses it' };
}

/** Images of ours kept beside those in use: the way back from a bad update. */
const kept = 2;

/**
 * Own images that may go, the oldest first: never one that runs, that is to run, or that agents are known to work on.
 * With space enough the newest of the rest stay.
 */
export function prunable(
  images: readonly OwnImage[],
  containers: readonly OwnContainer[],
  needed: readonly (string | undefined)[],
  tight: boolean,
): readonly OwnImage[] {
  const used = new Set([...needed, ...containers.map(({ image }) => image)]);
  const rest = images.filter(({ id }) => !used.has(id)).sort((a, b) => a.created - b.created);
  const leftovers = rest.filter(({ tags }) => tags.length === 0);
  const tagged = rest.filter(({ tags }) => tags.length > 0);
  return [...leftovers, ...(tight ? tagged : tagged.slice(0, -kept))];
}
