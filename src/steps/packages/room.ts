import type { Facts } from '../../facts/facts.ts';
import type { Effects } from '../../packages/simulation.ts';

type Disks = Pick<Facts, 'disk' | 'initramfsBytes'>;

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

/** Room on one host, as changes take it one after the other. A file system that is not known has enough. */
export class Room {
  readonly #disk: Facts['disk'];
  readonly #taken = new Map<string, number>();

  constructor({ disk }: Disks) {
    this.#disk = disk;
  }

  /** Takes it. Undefined: there is enough. */
  take(needs: Needs): { readonly what: string; readonly next: string } | undefined {
    for (const [folder, bytes] of Object.entries(needs)) {
      const volume = this.#volumeOf(folder);
      if (volume === undefined || bytes === 0) continue;
      const taken = (this.#taken.get(volume.mount) ?? 0) + bytes;
      this.#taken.set(volume.mount, taken);
      if (taken > volume.freeBytes) {
        return {
          what: `takes ${size(taken, Math.ceil)} on ${volume.mount} with what comes before it, and ${size(volume.freeBytes, Math.floor)} are free`,
          next: `make room on ${volume.mount} (sudo du -xh ${volume.mount} | sort -h | tail shows what takes it), or enlarge it`,
        };
      }
    }
    return undefined;
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
