import type { Mirrors, Proxy } from '../inventory/fleet.ts';

/** A vendor of packages that no distribution has. */
export type Vendor = 'nvidia' | 'docker' | 'nvidia-container-toolkit';

interface Repositories {
  /** Base URL without trailing slash. */
  readonly base: string;
  /** The site's setting that replaces the base. */
  readonly mirror: keyof Mirrors;
  /** Extended regular expression: package sources that match it are for the same repositories. */
  readonly pattern: string;
}

export const vendors: Readonly<Record<Vendor, Repositories>> = {
  nvidia: {
    base: 'https://developer.download.nvidia.com/compute/cuda/repos',
    mirror: 'nvidiaDriver',
    pattern: String.raw`developer\.download\.nvidia\.(com|cn)/compute/cuda/repos`,
  },
  docker: {
    base: 'https://download.docker.com/linux',
    mirror: 'docker',
    pattern: String.raw`download\.docker\.com/linux`,
  },
  'nvidia-container-toolkit': {
    base: 'https://nvidia.github.io/libnvidia-container',
    mirror: 'toolkit',
    pattern: String.raw`nvidia\.github\.io/(libnvidia-container|nvidia-docker|nvidia-container-runtime)`,
  },
};

export const allVendors = Object.keys(vendors) as readonly Vendor[];

/** NVIDIA's folder names for machines. */
export const nvidiaMachine: Readonly<Record<Machine, string>> = { x86_64: 'x86_64', aarch64: 'sbsa' };

/** `uname -m` of the machines that are supported. */
export type Machine = 'x86_64' | 'aarch64';

/** The folders of a system in the vendors' repositories. */
export interface System {
  readonly machine: Machine;
  readonly nvidia: {
    /** Folder in the CUDA repositories: `debian12`. */
    readonly folder: string;
    /** sha256 of the keyring package in its x86_64 folder; undefined: only TLS protects the key. */
    readonly keySha256?: string;
  };
  readonly docker: {
    /** Folder below `linux/`: `debian`. */
    readonly folder: string;
    /** The release in it: `bookworm`. */
    readonly release: string;
  };
}

/** A site's mirrors and proxy. */
export interface Site {
  readonly mirrors: Mirrors;
  readonly proxy: Proxy;
}
