import { stat, statfs } from 'node:fs/promises';
import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { readHead } from './files.ts';
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
 * Returns the folder in which containerd stores images, by its configuration; undefined: it does not exist, and dockerd runs a
 * containerd of its own below its data root.
 */
export async function containerdRoot(config = '/etc/containerd/config.toml'): Promise<string | undefined> {
  const text = await readHead(config, readerBounds.containerdConfig.bytes).then(String, () => '');
  const root = rootIn(text) ?? '/var/lib/containerd';
  const there = await stat(root).catch(() => undefined);
  return there === undefined ? undefined : root;
}

/** Returns `root` of containerd's config.toml, which is before its first table. */
function rootIn(text: string): string | undefined {
  const [top = ''] = text.split(/^[ \t]*\[/m);
  const [, double, single] = /^[ \t]*root[ \t]*=[ \t]*(?:"(\/[^"\n]*)"|'(\/[^'\n]*)')/m.exec(top) ?? [];
  return double ?? single;
}

/**
 * Returns the state of the disk. `tight`: unused images are removed. `full`: no agent starts until a quarter more than the
 * limit is free, so that slots do not flap at the limit. Limits of small disks are percentages.
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
  return { code: 'disk.full', what, next: 'free space there; `docker system df` shows what uses it' };
}

/** Unused images that stay, for a rollback. */
const kept = 2;

/**
 * Returns own images to remove, the oldest first: never one that runs, is about to run, or is known to work. With enough
 * space the newest others stay.
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
