import type { SystemNames } from '../names.ts';
import { withBuilder } from './needs/builder.ts';
import { agentLibraries } from './agent-libraries.ts';
import { desktop } from './desktop.ts';
import { dkmsSigning, driverCommons, runfileNeeds } from './driver.ts';
import { withDkms, type Epel } from './needs/epel.ts';

/** What holds the same files as Docker's packages (docs.docker.com/engine/install/rhel). /var/lib/docker outlives them. */
const conflicts: readonly string[] = [
  'docker',
  'docker-client',
  'docker-client-latest',
  'docker-common',
  'docker-engine',
  'docker-latest',
  'docker-latest-logrotate',
  'docker-logrotate',
  'podman-docker',
  'containerd',
  'runc',
];

/** Red Hat Enterprise Linux and its rebuilds. */
export function enterpriseLinux(epel: Epel): SystemNames {
  return {
    engine: { own: 'docker', conflicts },
    desktop,
    agentLibraries,
    driver: {
      ...driverCommons,
      signing: dkmsSigning,
      prepare: (_, site) => `${withBuilder}\n${withDkms(epel, site)}`,
      runfile: runfileNeeds((site) => withDkms(epel, site)),
    },
  };
}

/** Docker has no packages for it; the system's own engine comes, and is taken as it is. */
export const amazonLinux: SystemNames = {
  engine: { own: 'docker', conflicts: [], kept: true },
  desktop,
  agentLibraries,
  driver: {
    ...driverCommons,
    signing: dkmsSigning,
    prepare: (_, site) => withDkms(undefined, site),
    runfile: runfileNeeds((site) => withDkms(undefined, site)),
  },
};
