import type { Platform } from '../../packages/distribution.ts';
import type { Machine } from '../../packages/vendors.ts';
import type { Artifact } from '../change.ts';

/** What a bundle has, for hosts that reach no network but ours. */
export interface Included {
  /** Undefined: none for such a system. */
  packages(system: {
    readonly id: string;
    readonly versionId: string;
    readonly machine: Machine;
  }): PackageSet | undefined;
  /** The build context of the agents' image, as one archive: it is part of the image's name. */
  readonly context: Buffer;
  /** Undefined: it is not there. */
  image(reference: string, machine: string): IncludedImage | undefined;
  /** References of all images for a machine. */
  images(machine: string): readonly string[];
  /** The agent's archive of this sha256 (hex), for agents straight on the host. Undefined: it is not there. */
  agent(sha256: string): Artifact | undefined;
  /** What to do where something is missing: how it is made again. */
  readonly again: string;
}

/** An image on its way into an engine. */
export interface IncludedImage {
  /** What `docker load` reads. */
  readonly archive: Extract<Artifact, { kind: 'file' }>;
  /** Bytes that it takes in the engine at least. Absent: nobody has counted, and it takes what the archive does. */
  readonly unpacked?: number;
  /** Where it is named by its digest, which no engine knows it by once it is loaded. */
  readonly proof?: {
    readonly manifests: readonly Artifact[];
    /** By which ids (`sha256:…`) the engine can have it. */
    readonly ids: readonly string[];
  };
}

/** The packages of one system. */
export interface PackageSet {
  /** What the package manager reads. */
  readonly index: string;
  readonly packages: readonly {
    readonly file: string;
    readonly artifact: Extract<Artifact, { kind: 'file' }>;
  }[];
}

/** The platform whose packages lie in a folder of the host, where the included have some for it; otherwise as it is. */
export function offlinePlatform(
  platform: Platform,
  { included }: { readonly included?: Included },
): Platform {
  const set = included?.packages(platform);
  if (included === undefined || set === undefined) return platform;
  const { offline } = platform.packages;
  return { ...platform, packages: offline.manager(set.index, included.again) };
}
