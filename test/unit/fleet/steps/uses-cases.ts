import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';
import { afterDriver } from './host-stack-lines.ts';

const defaults = desiredOf();
const withGraphics = desiredOf({ driverCapabilities: ['compute', 'utility', 'graphics', 'video'] });
const withVideo = desiredOf({
  agents: {
    kind: 'slots',
    slots: [{ gpus: [0], share: false, limits: {}, capabilities: ['compute', 'video'], mode: 'container' }],
  },
});
const ready = afterwards(factsOf(), defaults);
const ubuntu = {
  id: 'ubuntu',
  idLike: ['debian'],
  versionId: '24.04',
  codename: 'noble',
  pretty: 'Ubuntu 24.04',
};

/** Graphics and video for agents, in the form of host-stack-cases.ts. */
export const usesCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'graphics on a bare host',
    factsOf(),
    withGraphics,
    [
      'add NVIDIA package repository [nothing]',
      'install NVIDIA driver 580 (open kernel modules, with graphics and video) [nothing]',
      ...afterDriver,
    ],
  ],
  [
    'graphics on a host for computing only',
    ready,
    withGraphics,
    [
      'install nvidia-egl-icd, nvidia-vulkan-icd, libglx-nvidia0, libgles-nvidia2, libnvidia-encode1, libnvcuvid1 [nothing]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'video for one slot',
    ready,
    withVideo,
    ['install libnvidia-encode1, libnvcuvid1 [nothing]', 'write the CDI specification [new-containers]'],
  ],
  [
    'the specification is older than the libraries',
    merge(afterwards(ready, withGraphics), { toolkit: { cdiUses: [] } }),
    withGraphics,
    ['write the CDI specification [new-containers]'],
  ],
  ['libraries stay if agents need no graphics any more', afterwards(ready, withGraphics), defaults, []],
  [
    "Canonical's driver for servers gets Canonical's libraries",
    factsOf({
      ...afterwards(factsOf({ os: ubuntu }), defaults),
      packages: { ...ready.packages, 'libnvidia-compute-580-server': '580.95.05-0ubuntu1' },
    }),
    withVideo,
    [
      'install libnvidia-encode-580-server, libnvidia-decode-580-server [nothing]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'driver: none, without libraries that agents need',
    factsOf({ ...ready, driver: { ...driven }, packages: ready.packages }),
    desiredOf({ ...withGraphics.host, driver: { install: false } }),
    [
      'refused: agents may use graphics and video, and the installed driver (driver: none) lacks nvidia-egl-icd, nvidia-vulkan-icd, libglx-nvidia0, libgles-nvidia2, libnvidia-encode1, libnvcuvid1',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'a .run file contains all libraries',
    merge(afterwards(ready, withGraphics), { packages: ready.packages, driver: { runfile: true } }),
    withGraphics,
    [],
  ],
];
