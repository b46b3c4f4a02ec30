import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { PartName } from '../../packages/package-record.ts';
import type { Vendor } from '../../packages/vendors.ts';
import { upstream } from '../../packages/version.ts';

/** Docker's packages that have the engine's version; their names are the same on all distributions. */
export const enginePackages: readonly string[] = ['docker-ce', 'docker-ce-cli'];

export const dockerPackages: readonly string[] = [
  ...enginePackages,
  'containerd.io',
  'docker-buildx-plugin',
  'docker-compose-plugin',
];

/** Patterns of packages that Docker's may replace, including plugins that distributions package separately. */
export const replacedByDocker: readonly string[] = ['docker*', 'containerd*'];

/** The toolkit's packages, all at one version: required from 1.18 on. */
export const toolkitPackages: readonly string[] = [
  'nvidia-container-toolkit',
  'nvidia-container-toolkit-base',
  'libnvidia-container-tools',
  'libnvidia-container1',
];

/** Patterns of packages that the toolkit may replace: its predecessors. */
export const replacedByToolkit: readonly string[] = [
  'nvidia-docker*',
  'nvidia-container-*',
  'libnvidia-container*',
];

/** The vendor whose repository has a part's packages. */
export const vendorOf: Readonly<Record<PartName, Vendor>> = {
  toolkit: 'nvidia-container-toolkit',
  docker: 'docker',
  driver: 'nvidia',
};

/** Returns whether a package belongs to a part, by its name or pattern. The toolkit's names resemble the driver's. */
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
 * Versions of the driver's own packages, which begin with the branch. Others have similar names: the CUDA toolkit
 * (`nvidia-cuda-toolkit` 11.8.0, `libcudart11.0`), cuDNN (`nvidia-cudnn` 8.7.0).
 */
const ofDriver = /^\d{3,4}\./;

/** Returns the installed packages of an NVIDIA driver, from any repository, including partly installed ones. */
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

/** Returns whether the host has a desktop. */
export function hasDesktop({ packages }: Pick<Facts, 'packages'>, { names }: Platform): boolean {
  const screens = names.desktop.own.map(glob);
  return Object.keys(packages).some((name) => screens.some((fits) => fits(name)));
}
