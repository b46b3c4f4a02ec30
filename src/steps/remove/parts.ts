import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import { glob } from '../../inventory/glob.ts';
import { upstream } from '../../packages/version.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Vendor } from '../../packages/vendors.ts';
import { dockerPackages } from '../docker/packages.ts';
import { toolkitPackages } from '../toolkit/packages.ts';

/** What is left in place unless it is asked for by its own name. */
export type PartName = 'toolkit' | 'docker' | 'driver';

export interface Part {
  readonly name: PartName;
  readonly title: string;
  readonly vendor: Vendor;
  /** Of its packages those that are there, be it in part. */
  readonly installed: readonly string[];
  /** Files of ours that it needs as long as it is there. */
  readonly files: readonly string[];
}

/**
 * The driver's own packages have its version, which begins with the branch. Others have names like them and are somebody's:
 * the CUDA toolkit (`nvidia-cuda-toolkit` 11.8.0, `libcudart11.0`), cuDNN (`nvidia-cudnn` 8.7.0).
 */
const ofDriver = /^\d{3,4}\./;

/** In the order in which they go. */
export function partsOf(facts: Facts, { names }: Platform): readonly Part[] {
  const all = { ...facts.packages, ...facts.unfinished };
  const present = Object.keys(all);
  const named = (wanted: readonly string[]) => wanted.filter((name) => present.includes(name));
  const family = names.driver.family.map(glob);
  const driver = present.filter(
    (name) =>
      family.some((covers) => covers(name)) &&
      ofDriver.test(upstream(all[name] ?? '')) &&
      !toolkitPackages.includes(name) &&
      !name.startsWith('nvidia-container-'),
  );
  const kept = [managedFiles.nouveauBlacklist, managedFiles.persistence];
  return [
    {
      name: 'toolkit',
      title: 'NVIDIA Container Toolkit',
      vendor: 'nvidia-container-toolkit',
      installed: named(toolkitPackages),
      files: [],
    },
    {
      name: 'docker',
      title: 'Docker Engine',
      vendor: 'docker',
      installed: named(dockerPackages),
      files: [],
    },
    {
      name: 'driver',
      title: 'NVIDIA driver',
      vendor: 'nvidia',
      installed: driver.toSorted(),
      files: kept.filter((path) => facts.files[path] !== undefined),
    },
  ];
}
