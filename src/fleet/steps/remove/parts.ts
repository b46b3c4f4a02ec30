import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Platform } from '../../packages/distribution.ts';
import { partNames, type PartName } from '../../packages/package-record.ts';
import { driverPackages } from '../driver/present.ts';
import { isOfPart } from '../packages/of-part.ts';

export type { PartName };

export interface Part {
  readonly name: PartName;
  readonly title: string;
  /** Of its packages those that are there, be it in part. */
  readonly installed: readonly string[];
  /** Files of ours that it needs as long as it is there. */
  readonly files: readonly string[];
}

const titles: Readonly<Record<PartName, string>> = {
  toolkit: 'NVIDIA Container Toolkit',
  docker: 'Docker Engine',
  driver: 'NVIDIA driver',
};

/** In the order in which they go. */
export function partsOf(facts: Facts, platform: Platform): readonly Part[] {
  const present = Object.keys({ ...facts.packages, ...facts.unfinished });
  const kept = [managedFiles.nouveauBlacklist, managedFiles.persistence];
  return partNames.map((name) => ({
    name,
    title: titles[name],
    installed:
      name === 'driver'
        ? driverPackages(facts, platform)
        : present.filter(isOfPart(name, platform)).toSorted(),
    files: name === 'driver' ? kept.filter((path) => facts.files[path] !== undefined) : [],
  }));
}
