import type { DriverSpec } from '../../inventory/fleet.ts';
import type { SystemNames } from '../names.ts';
import { debianComponents } from './contrib.ts';
import { agentLibraries } from './names/agent-libraries.ts';
import { desktop } from './names/desktop.ts';
import { driverCommons, prepare } from './driver.ts';
import { lackingOf, namesOf } from './driver-names.ts';
import { engine } from './engine.ts';
import { debianSigning } from './signing.ts';

/** `branch`: of the release's own driver packages. */
export function debian(branch: string): SystemNames {
  return {
    engine,
    desktop,
    agentLibraries,
    driver: {
      ...driverCommons,
      own: { branch },
      signing: debianSigning,
      packages: (spec, flavor, nvswitches) => named(spec).packages(flavor, nvswitches),
      extras: (spec, uses) => named(spec).extras(uses),
      lacks: (packages, uses) => lackingOf(['debian', 'debianOwn'], packages, uses),
      variants: ({ method }) => [method === 'distro' ? 'nvidia-smi' : 'nvidia-driver-cuda'],
      formerly: ['nvidia-driver-cuda', 'nvidia-smi'],
      optional: (spec) => named(spec).optional,
      beside: (spec) => named(spec).beside,
      prepare: (spec) => prepare(spec, debianComponents(spec)),
    },
  };
}

function named(spec: DriverSpec): ReturnType<typeof namesOf> {
  return namesOf(spec.method === 'distro' ? 'debianOwn' : 'debian', spec);
}
