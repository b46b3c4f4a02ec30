import type { Mirrors } from '../inventory/fleet.ts';
import type { Machine } from './system.ts';

/** Who offers packages that no distribution has. */
export type Vendor = 'nvidia' | 'docker' | 'nvidia-container-toolkit';

interface Repositories {
  /** Base URL without trailing slash. */
  readonly base: string;
  /** What replaces the base on a site of its own. */
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
