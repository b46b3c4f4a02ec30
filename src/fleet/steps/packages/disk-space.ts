import { dirname } from 'node:path/posix';

import type { Facts } from '../../facts/facts.ts';
import type { Effects } from '../../packages/simulation.ts';
import type { Action, Change } from '../change.ts';

export type Disks = Pick<Facts, 'disk' | 'initramfsBytes' | 'arrived'>;

/** Bytes that one change needs, by folder. */
type Needs = Readonly<Record<string, number>>;

/**
 * Returns the disk space of a transaction: archives are downloaded to /var/cache, packages are unpacked below /usr, and a new
 * initramfs is written beside the old one.
 */
export function needsOf({ room }: Effects, rebuildsInitramfs: boolean, { initramfsBytes }: Disks): Needs {
  if (room === undefined) return {};
  return {
    '/var/cache': room.downloadBytes,
    '/usr': Math.max(0, room.installedBytes),
    ...(rebuildsInitramfs && initramfsBytes > 0 ? { '/boot': initramfsBytes } : {}),
  };
}

/**
 * Returns the disk space of a change's uploads, without bytes that the host already has. `passing`: needed only during the
 * change, which unpacks and deletes them.
 */
export function uploadNeeds(
  { actions, unpacks }: Change,
  { arrived }: Disks,
): { readonly lasting: Needs; readonly passing: Needs } {
  const uploads: Record<string, number> = {};
  for (const action of actions) {
    if (action.kind !== 'upload') continue;
    const folder = dirname(action.path);
    uploads[folder] = (uploads[folder] ?? 0) + missingBytes(action, arrived);
  }
  return unpacks === undefined
    ? { lasting: uploads, passing: {} }
    : { lasting: { [unpacks.folder]: unpacks.bytes }, passing: uploads };
}

/** Returns the bytes still to send. An interrupted upload continues in a `.part` file. */
function missingBytes(
  { path, artifact }: Extract<Action, { kind: 'upload' }>,
  arrived: Readonly<Record<string, number>>,
): number {
  if (artifact.kind === 'text') return Buffer.byteLength(artifact.text);
  const bytes = artifact.part?.bytes ?? artifact.size;
  const present =
    arrived[path] === bytes ? bytes : (arrived[`${path}.${artifact.sha256.slice(0, 16)}.part`] ?? 0);
  return Math.max(0, bytes - present);
}

/** Disk space on one host, reserved change by change. An unknown file system has enough. */
export class DiskSpace {
  readonly #disk: Facts['disk'];
  readonly #reserved = new Map<string, number>();

  constructor({ disk }: Disks) {
    this.#disk = disk;
  }

  /** Reserves space; `passing` only for this one change. Undefined: there is enough. */
  reserve(lasting: Needs, passing: Needs = {}): { readonly what: string; readonly next: string } | undefined {
    const needs = [...Object.entries(lasting), ...Object.entries(passing)];
    for (const [folder, bytes] of needs) this.#add(folder, bytes);
    const short = needs
      .filter(([, bytes]) => bytes > 0)
      .flatMap(([folder]) => this.#volumeOf(folder) ?? [])
      .map((volume) => ({ ...volume, reserved: this.#reserved.get(volume.mount) ?? 0 }))
      .find(({ freeBytes, reserved }) => reserved > freeBytes);
    for (const [folder, bytes] of Object.entries(passing)) this.#add(folder, -bytes);
    if (short === undefined) return undefined;
    const { mount, reserved, freeBytes } = short;
    return {
      what: `needs ${size(reserved, Math.ceil)} on ${mount} including the changes before it; ${size(freeBytes, Math.floor)} are free`,
      next: `free space on ${mount} (sudo du -xh ${mount} | sort -h | tail shows the largest folders), or enlarge it`,
    };
  }

  #add(folder: string, bytes: number): void {
    const volume = this.#volumeOf(folder);
    if (volume !== undefined)
      this.#reserved.set(volume.mount, (this.#reserved.get(volume.mount) ?? 0) + bytes);
  }

  #volumeOf(folder: string): Facts['disk'][string] | undefined {
    return (
      this.#disk[folder] ??
      (folder === '/' ? undefined : this.#volumeOf(folder.replace(/\/[^/]*$/, '') || '/'))
    );
  }
}

/** Returns `1.9 GB` or `412 MB`, in decimal units like package managers. */
function size(bytes: number, round: (value: number) => number): string {
  return bytes >= 1e9 ? `${(round(bytes / 1e8) / 10).toFixed(1)} GB` : `${round(bytes / 1e6)} MB`;
}
