import type { SystemNames } from '../names.ts';
import { debianContrib } from './contrib.ts';
import { agentLibraries } from './names/agent-libraries.ts';
import { desktop } from './names/desktop.ts';
import { driverCommons, prepare } from './driver.ts';
import { lackingOf, namesOf } from './driver-names.ts';
import { engine } from './engine.ts';
import { debianSigning } from './signing.ts';

export const debian: SystemNames = {
  engine,
  desktop,
  agentLibraries,
  driver: {
    ...driverCommons,
    signing: debianSigning,
    packages: (spec, flavor, nvswitches) => namesOf('debian', spec).packages(flavor, nvswitches),
    extras: (spec, uses) => namesOf('debian', spec).extras(uses),
    lacks: (packages, uses) => lackingOf('debian', packages, uses),
    variants: ['nvidia-driver-cuda'],
    optional: (spec) => namesOf('debian', spec).persistence,
    prepare: (spec) => prepare(spec, debianContrib),
  },
};
