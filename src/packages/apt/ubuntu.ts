import type { DriverSpec } from '../../inventory/fleet.ts';
import type { SystemNames } from '../names.ts';
import { driverCommons, fabricManager, prepare } from './driver.ts';
import { engine } from './engine.ts';
import { ubuntuSigning } from './signing.ts';

export const ubuntu: SystemNames = {
  engine,
  driver: {
    ...driverCommons,
    signing: ubuntuSigning,
    packages: (spec, flavor, nvswitches) => {
      const suffix = branchSuffix(spec);
      return [
        `libnvidia-compute${suffix}`,
        `nvidia-utils${suffix}`,
        `nvidia-dkms${suffix}${flavor === 'open' ? '-open' : ''}`,
        ...fabricManager(spec, nvswitches),
      ];
    },
    variants: ['libnvidia-compute', 'libnvidia-compute-[0-9][0-9][0-9]'],
    // The daemon that keeps the GPUs initialised between containers, under the names it has had.
    optional: (spec) => {
      const suffix = branchSuffix(spec);
      return ['nvidia-persistenced', ...(suffix === '' ? [] : [`nvidia-compute-utils${suffix}`])];
    },
    prepare: (spec) => prepare(spec),
  },
};

/** The names carry the branch up to 580, and lost it with 590. */
function branchSuffix({ branch }: DriverSpec): string {
  return Number(branch) < 590 ? `-${branch}` : '';
}
