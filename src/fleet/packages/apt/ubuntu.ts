import { defaultVersions } from '../../inventory/schema/defaults.ts';
import type { DriverSpec } from '../../inventory/fleet.ts';
import type { SystemNames } from '../names.ts';
import { agentLibraries } from './names/agent-libraries.ts';
import { desktop } from './names/desktop.ts';
import { driverCommons, prepare } from './driver.ts';
import { lackingOf, namesOf } from './driver-names.ts';
import { engine } from './engine.ts';
import { ubuntuSigning } from './signing.ts';

const plain = ['libnvidia-compute', 'libnvidia-compute-[0-9][0-9][0-9]'];
const forServers = ['libnvidia-compute-[0-9][0-9][0-9]-server'];

/** Its own driver is the one that Canonical keeps for servers. */
export const ubuntu: SystemNames = {
  engine,
  desktop,
  agentLibraries,
  driver: {
    ...driverCommons,
    own: { branch: defaultVersions.driverBranch },
    signing: ubuntuSigning,
    packages: (spec, flavor, nvswitches) => named(spec).packages(flavor, nvswitches),
    extras: (spec, uses) => named(spec).extras(uses),
    lacks: (packages, uses) => lackingOf(['ubuntu', 'ubuntuOwn'], packages, uses),
    variants: ({ method }) => (method === 'distro' ? forServers : plain),
    formerly: [...plain, ...forServers],
    optional: (spec) => named(spec).optional,
    prepare: (spec) => prepare(spec),
  },
};

function named(spec: DriverSpec): ReturnType<typeof namesOf> {
  return namesOf(spec.method === 'distro' ? 'ubuntuOwn' : 'ubuntu', spec);
}
