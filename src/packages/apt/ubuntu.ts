import type { SystemNames } from '../names.ts';
import { agentLibraries } from './names/agent-libraries.ts';
import { desktop } from './names/desktop.ts';
import { driverCommons, prepare } from './driver.ts';
import { lackingOf, namesOf } from './driver-names.ts';
import { engine } from './engine.ts';
import { ubuntuSigning } from './signing.ts';

export const ubuntu: SystemNames = {
  engine,
  desktop,
  agentLibraries,
  driver: {
    ...driverCommons,
    signing: ubuntuSigning,
    packages: (spec, flavor, nvswitches) => namesOf('ubuntu', spec).packages(flavor, nvswitches),
    extras: (spec, uses) => namesOf('ubuntu', spec).extras(uses),
    lacks: (packages, uses) => lackingOf('ubuntu', packages, uses),
    variants: ['libnvidia-compute', 'libnvidia-compute-[0-9][0-9][0-9]'],
    optional: (spec) => namesOf('ubuntu', spec).persistence,
    prepare: (spec) => prepare(spec),
  },
};
