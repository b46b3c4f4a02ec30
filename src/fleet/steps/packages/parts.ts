import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { PartName } from '../../packages/package-record.ts';
import type { Vendor } from '../../packages/vendors.ts';
import { upstream } from '../../packages/version.ts';

/** Docker's own packages, whose names are the same everywhere. These carry the engine's version. */
export const enginePackages: readonly string[] = ['docker-ce', 'docker-ce-cli'];

export const dockerPackages: readonly string[] = [
  ...enginePackages,
  'containerd.io',
  'docker-buildx-plugin',
  'docker-compose-plugin',
];

/** Patterns of what may go for them, plugins that a distribution packages by themselves among it. */
export const replacedByDocker: readonly string[] = ['docker*', 'containerd*'];

/** All four at one version: from 1.18 on they insist on it. */
export const toolkitPackages: readonly string[] = [
  'nvidia-container-toolkit',
  'nvidia-container-toolkit-base',
  'libnvidia-container-tools',
  'libnvidia-container1',
];

/** Patterns of what may go for them: the packages of the time before the toolkit. */
export const replacedByToolkit: readonly string[] = [
  'nvidia-docker*',
  'nvidia-container-*',
  'libnvidia-container*',
];

/** Who offers a part where the system itself does not. */
export const vendorOf: Readonly<Record<PartName, Vendor>> = {
  toolkit: 'nvidia-container-toolkit',
  docker: 'docker',
  driver: 'nvidia',
};

/** Whether a package, by its name or a pattern of names, is of a part. The toolkit's are called like the driver's. */
export function isOfPart(part: PartName, { names }: Platform): (name: string) => boolean {
  if (part === 'toolkit') return (name) => toolkitPackages.includes(name);
  if (part === 'docker') return (name) => dockerPackages.includes(name);
  const family = names.driver.family.map(glob);
  return (name) =>
    family.some((covers) => covers(name)) &&
    !toolkitPackages.includes(name) &&
    !name.startsWith('nvidia-container-');
}

/**
 * The driver's own packages have its version, which begins with the branch. Others have names like them and are somebody's:
 * the CUDA toolkit (`nvidia-cuda-toolkit` 11.8.0, `libcudart11.0`), cuDNN (`nvidia-cudnn` 8.7.0).
 */
const ofDriver = /^\d{3,4}\./;

/** Packages of an NVIDIA driver that are there, be it in part, whoever made them. */
export function driverPackages(
  { packages, unfinished }: Pick<Facts, 'packages' | 'unfinished'>,
  platform: Platform,
): string[] {
  const all = { ...packages, ...unfinished };
  return Object.keys(all)
    .filter(isOfPart('driver', platform))
    .filter((name) => ofDriver.test(upstream(all[name] ?? '')))
    .toSorted();
}

/** The host shows something on a screen. */
export function hasDesktop({ packages }: Pick<Facts, 'packages'>, { names }: Platform): boolean {
  const screens = names.desktop.own.map(glob);
  return Object.keys(packages).some((name) => screens.some((fits) => fits(name)));
}
