import type { Platform } from '../../packages/distribution.ts';
import type { Machine } from '../../packages/vendors.ts';
import type { Artifact } from '../change.ts';

/** The contents of a bundle, for hosts without access to package repositories and registries. */
export interface Included {
  /** Undefined: the bundle has none for this system. */
  packages(system: {
    readonly id: string;
    readonly versionId: string;
    readonly machine: Machine;
  }): PackageSet | undefined;
  /** The build context of the agents' image as one archive. The image's tag depends on it. */
  readonly context: Buffer;
  /** Undefined: not in the bundle. */
  image(reference: string, machine: string): IncludedImage | undefined;
  /** References of all images for a machine. */
  images(machine: string): readonly string[];
  /** The agent's archive with this sha256 (hex), for slots with `mode: host`. Undefined: not in the bundle. */
  agent(sha256: string): Artifact | undefined;
  /** Next action where something is missing: the command that makes the bundle again. */
  readonly rebuild: string;
}

/** An image that `docker load` reads. */
export interface IncludedImage {
  /** What `docker load` reads. */
  readonly archive: Extract<Artifact, { kind: 'file' }>;
  /** Least bytes that the engine needs for it. Absent: not counted; the archive's size is used. */
  readonly unpacked?: number;
  /** For an image referenced by digest: engines do not know that digest after `docker load`. */
  readonly proof?: {
    readonly manifests: readonly Artifact[];
    /** The ids (`sha256:…`) that the engine may give it. */
    readonly ids: readonly string[];
  };
}

/** The packages of one system. */
export interface PackageSet {
  /** The repository index that the package manager reads. */
  readonly index: string;
  readonly packages: readonly {
    readonly file: string;
    readonly artifact: Extract<Artifact, { kind: 'file' }>;
  }[];
}

/** Returns the platform with its packages in a folder of the host where the bundle has them; otherwise unchanged. */
export function offlinePlatform(
  platform: Platform,
  { included }: { readonly included?: Included },
): Platform {
  const set = included?.packages(platform);
  if (included === undefined || set === undefined) return platform;
  const { offline } = platform.packages;
  return { ...platform, packages: offline.manager(set.index, included.rebuild) };
}
