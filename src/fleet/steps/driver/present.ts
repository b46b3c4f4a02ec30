import type { Facts } from '../../facts/facts.ts';
import { glob } from '../../inventory/glob.ts';
import type { Platform } from '../../packages/distribution.ts';
import { upstream } from '../../packages/version.ts';
import { isOfPart } from '../packages/of-part.ts';

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
