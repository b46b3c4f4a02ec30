import type { Facts } from '../../facts/facts.ts';
import type { DriverSpec } from '../../inventory/fleet.ts';
import type { Flavor } from '../../packages/names.ts';
import { generationOf } from './generations.ts';

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/** The kernel modules to install: open wherever every GPU can have them, unless the inventory says otherwise. */
export function flavorFor(facts: Facts, spec: DriverSpec): Flavor {
  if (spec.flavor !== 'auto') return spec.flavor;
  return generations(facts).some(({ modules }) => modules === 'proprietary') ? 'proprietary' : 'open';
}

/** Whether the modules that are loaded may stay: both kinds drive Turing to Ada. */
export function flavorFits(facts: Facts, spec: DriverSpec): boolean {
  if (facts.driver.open === undefined) return true;
  const loaded: Flavor = facts.driver.open ? 'open' : 'proprietary';
  if (spec.flavor !== 'auto') return loaded === spec.flavor;
  return generations(facts).every(({ modules }) => modules === 'either' || modules === loaded);
}

/** Why this driver branch, or this kind of modules, cannot drive the host's GPUs. */
export function generationObstacle(facts: Facts, spec: DriverSpec): Obstacle | undefined {
  const branch = Number(spec.branch);
  const flavor = flavorFor(facts, spec);
  for (const gpu of facts.gpus) {
    const {
      name,
      modules,
      firstBranch = 0,
      lastBranch = Number.POSITIVE_INFINITY,
    } = generationOf(gpu.deviceId);
    const device = `GPU ${gpu.address} (10de:${gpu.deviceId}, ${name})`;
    if (branch > lastBranch) {
      return {
        what: `driver branch ${spec.branch} does not support ${device}; ${lastBranch} is the last one that does`,
        next: `set driver: { branch: "${lastBranch}" } for this host in the inventory`,
      };
    }
    if (branch < firstBranch) {
      return {
        what: `driver branch ${spec.branch} does not know ${device}; ${firstBranch} is the first one that does`,
        next: `set driver: { branch: "${firstBranch}" } or newer for this host in the inventory`,
      };
    }
    if (modules !== 'either' && modules !== flavor) {
      return {
        what: `${device} needs the ${modules} kernel modules, and ${flavor} ones would be installed`,
        next:
          spec.flavor === 'auto'
            ? 'these GPUs cannot share one driver: move one of them to another host'
            : `set driver: { flavor: ${modules} } or auto for this host in the inventory`,
      };
    }
  }
  return undefined;
}

function generations(facts: Facts) {
  return facts.gpus.map(({ deviceId }) => generationOf(deviceId));
}
