import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Vendor } from '../../packages/vendors.ts';
import { dockerPackages } from '../docker/packages.ts';
import { driverPackages } from '../driver/present.ts';
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

/** In the order in which they go. */
export function partsOf(facts: Facts, platform: Platform): readonly Part[] {
  const all = { ...facts.packages, ...facts.unfinished };
  const present = Object.keys(all);
  const named = (wanted: readonly string[]) => wanted.filter((name) => present.includes(name));
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
      installed: driverPackages(facts, platform),
      files: kept.filter((path) => facts.files[path] !== undefined),
    },
  ];
}
