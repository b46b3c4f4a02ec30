import type { SystemNames } from '../names.ts';
import { debianContrib } from './contrib.ts';
import { driverCommons, fabricManager, prepare } from './driver.ts';
import { engine } from './engine.ts';
import { debianSigning } from './signing.ts';

export const debian: SystemNames = {
  engine,
  driver: {
    ...driverCommons,
    signing: debianSigning,
    packages: (spec, flavor, nvswitches) => [
      'nvidia-driver-cuda',
      flavor === 'open' ? 'nvidia-kernel-open-dkms' : 'nvidia-kernel-dkms',
      ...fabricManager(spec, nvswitches),
    ],
    variants: ['nvidia-driver-cuda'],
    // Keeps the GPUs initialised between containers. Not every branch has it as a package of its own.
    optional: () => ['nvidia-persistenced'],
    prepare: (spec) => prepare(spec, debianContrib),
  },
};
