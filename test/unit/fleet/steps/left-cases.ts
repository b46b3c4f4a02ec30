import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf } from '../../../support/host.ts';

const none = desiredOf({
  driver: { install: false },
  docker: { version: '29.7.2', left: true },
  toolkit: { version: '1.20.0', left: true },
});
const dockerNone = desiredOf({ docker: { version: '29.7.2', left: true } });
const toolkitNone = desiredOf({ toolkit: { version: '1.20.0', left: true } });

/** Installed by the owner: other versions, no holds, no source of azp-fleet, no live-restore. */
const owned = factsOf({
  driver: { ...driven, loaded: '570.86.10', userspace: '570.86.10' },
  packages: { 'docker.io': '26.1.5+dfsg1-9', 'nvidia-container-toolkit': '1.17.8-1', kubelet: '1.31.0' },
  docker: { active: true, enabled: false, serverVersion: '26.1.5', daemonJson: '{"hosts":[' },
  toolkit: { version: '1.17.8', cdiSpec: true, cdiDriver: '570.86.10' },
});
const withoutToolkit = factsOf({
  ...owned,
  packages: { 'docker.io': '26.1.5+dfsg1-9' },
  toolkit: { version: undefined, cdiSpec: false, cdiDriver: undefined },
});
const managed = factsOf({
  driver: driven,
  packages: { 'nvidia-driver-cuda': '580.95.05-1', 'nvidia-kernel-open-dkms': '580.95.05-1' },
  held: ['nvidia-driver-cuda', 'nvidia-kernel-open-dkms'],
  docker: { active: true, enabled: true, serverVersion: '26.1.5' },
});

/** Parts that the inventory leaves alone, in the form of host-stack-cases.ts. */
export const leftCases: readonly [string, Facts, Desired, readonly string[]][] = [
  ['none everywhere, and all installed', owned, none, []],
  [
    'none everywhere, on an unsupported system',
    factsOf({
      ...owned,
      os: { ...owned.os, id: 'gentoo', pretty: 'Gentoo' },
      packages: {},
      toolkit: { ...owned.toolkit, version: undefined, unpackaged: true },
    }),
    none,
    [],
  ],
  [
    'none everywhere, and nothing installed',
    factsOf(),
    none,
    [
      'refused: driver: none, and no NVIDIA driver is loaded',
      'refused: docker: none, and no Docker Engine is running',
      'refused: toolkit: none, and no NVIDIA Container Toolkit is installed',
    ],
  ],
  [
    'none everywhere, on a host without a GPU',
    factsOf({ gpus: [], docker: { active: true, serverVersion: '24.0.9' } }),
    none,
    [],
  ],
  [
    'docker: none, and a snap',
    factsOf({ ...owned, docker: { ...owned.docker, snap: true } }),
    none,
    ['refused: Docker is installed as a snap, which does not support GPUs in containers'],
  ],
  [
    'toolkit: none, and a specification of another driver',
    factsOf({ ...owned, toolkit: { ...owned.toolkit, cdiDriver: '560.35.03' } }),
    none,
    ['refused: the CDI specification is for driver 560.35.03, and 570.86.10 is loaded'],
  ],
  [
    'docker: none, and the toolkit is missing',
    factsOf({ ...managed, packages: { ...managed.packages, ...withoutToolkit.packages } }),
    dockerNone,
    [
      'add NVIDIA Container Toolkit package repository [nothing]',
      'install NVIDIA Container Toolkit 1.20.0 [nothing]',
      'restart Docker Engine for the NVIDIA Container Toolkit [containers]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'toolkit: none, and the engine is missing',
    factsOf({
      ...managed,
      docker: { active: false, serverVersion: undefined },
      toolkit: { version: '1.17.8', cdiSpec: true, cdiDriver: '580.95.05' },
    }),
    toolkitNone,
    [
      'add Docker package repository [nothing]',
      'configure Docker Engine: live-restore, log-opts [nothing]',
      'install Docker Engine 29.7.2 [nothing]',
    ],
  ],
];
