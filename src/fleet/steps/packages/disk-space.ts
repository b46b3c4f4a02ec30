import { dirname } from 'node:path/posix';

import type { Facts } from '../../facts/facts.ts';
import type { Effects } from '../../packages/simulation.ts';
import type { Action, Change } from '../change.ts';

export type Disks = Pick<Facts, 'disk' | 'initramfsBytes' | 'arrived'>;

/** What one change takes, by the folder in which it is taken, in bytes. */
type Needs = Readonly<Record<string, number>>;

/**
 * Where a transaction takes its room: archives are downloaded to /var/cache, packages are unpacked below /usr, and a new
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
 * What files take that are brought, but for what of them is there already. `passing`: they go again once their change has made
 * something else of them.
 */
export function uploadNeeds(
  { actions, unpacks }: Change,
  { arrived }: Disks,
): { readonly lasting: Needs; readonly passing: Needs } {
  const brought: Record<string, number> = {};
  for (const action of actions) {
    if (action.kind !== 'upload') continue;
    const folder = dirname(action.path);
    brought[folder] = (brought[folder] ?? 0) + lackingBytes(action, arrived);
  }
  return unpacks === undefined
    ? { lasting: brought, passing: {} }
    : { lasting: { [unpacks.folder]: unpacks.bytes }, passing: brought };
}

/** An upload that was cut goes on where it ended, in a file beside its own. */
function lackingBytes(
  { path, artifact }: Extract<Action, { kind: 'upload' }>,
  arrived: Readonly<Record<string, number>>,
): number {
  if (artifact.kind === 'text') return Buffer.byteLength(artifact.text);
  const bytes = artifact.part?.bytes ?? artifact.size;
  const there =
    arrived[path] === bytes ? bytes : (arrived[`${path}.${artifact.sha256.slice(0, 16)}.part`] ?? 0);
  return Math.max(0, bytes - there);
}

/** Room on one host, as changes take it one after the other. A file system that is not known has enough. */
export class Room {
  readonly #disk: Facts['disk'];
  readonly #taken = new Map<string, number>();

  constructor({ disk }: Disks) {
    this.#disk = disk;
  }

  /** Takes it; what passes is there as long as this one change. Undefined: there is enough. */
  take(lasting: Needs, passing: Needs = {}): { readonly what: string; readonly next: string } | undefined {
    const needs = [...Object.entries(lasting), ...Object.entries(passing)];
    for (const [folder, bytes] of needs) this.#add(folder, bytes);
    const short = needs
      .filter(([, bytes]) => bytes > 0)
      .flatMap(([folder]) => this.#volumeOf(folder) ?? [])
      .map((volume) => ({ ...volume, taken: this.#taken.get(volume.mount) ?? 0 }))
      .find(({ freeBytes, taken }) => taken > freeBytes);
    for (const [folder, bytes] of Object.entries(passing)) this.#add(folder, -bytes);
    if (short === undefined) return undefined;
    const { mount, taken, freeBytes } = short;
    return {
      what: `takes ${size(taken, Math.ceil)} on ${mount} together with the changes before it, and ${size(freeBytes, Math.floor)} are free`,
      next: `make room on ${mount} (sudo du -xh ${mount} | sort -h | tail shows what takes it), or enlarge it`,
    };
  }

  #add(folder: string, bytes: number): void {
    const volume = this.#volumeOf(folder);
    if (volume !== undefined) this.#taken.set(volume.mount, (this.#taken.get(volume.mount) ?? 0) + bytes);
  }

  #volumeOf(folder: string): Facts['disk'][string] | undefined {
    return (
      this.#disk[folder] ??
      (folder === '/' ? undefined : this.#volumeOf(folder.replace(/\/[^/]*$/, '') || '/'))
    );
  }
}

/** `1.9 GB`, `412 MB`: as package managers count. */
function size(bytes: number, round: (value: number) => number): string {
  return bytes >= 1e9 ? `${(round(bytes / 1e8) / 10).toFixed(1)} GB` : `${round(bytes / 1e6)} MB`;
}
