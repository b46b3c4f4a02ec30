import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';
import { afterDriver } from './host-stack-lines.ts';

const defaults = desiredOf();
const drawing = desiredOf({ driverCapabilities: ['compute', 'utility', 'graphics', 'video'] });
const filming = desiredOf({
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

/** What agents may do with the driver beyond computing, in the form of host-stack-cases.ts. */
export const usesCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'agents that draw, on a bare host',
    factsOf(),
    drawing,
    [
      'add NVIDIA package repository [nothing]',
      'install NVIDIA driver 580 (open kernel modules, with graphics and video) [nothing]',
      ...afterDriver,
    ],
  ],
  [
    'agents that draw, where all were to compute before',
    ready,
    drawing,
    [
      'install nvidia-egl-icd, nvidia-vulkan-icd, libglx-nvidia0, libgles-nvidia2, libnvidia-encode1, libnvcuvid1 [nothing]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'one slot that encodes',
    ready,
    filming,
    ['install libnvidia-encode1, libnvcuvid1 [nothing]', 'write the CDI specification [new-containers]'],
  ],
  [
    'the libraries came, and the specification was made before',
    merge(afterwards(ready, drawing), { toolkit: { cdiUses: [] } }),
    drawing,
    ['write the CDI specification [new-containers]'],
  ],
  ['agents that draw no more keep what is there', afterwards(ready, drawing), defaults, []],
  [
    "Canonical's driver for servers gets Canonical's libraries",
    factsOf({
      ...afterwards(factsOf({ os: ubuntu }), defaults),
      packages: { ...ready.packages, 'libnvidia-compute-580-server': '580.95.05-0ubuntu1' },
    }),
    filming,
    [
      'install libnvidia-encode-580-server, libnvidia-decode-580-server [nothing]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'driver: none, whose owner left out what agents are to have',
    factsOf({ ...ready, driver: { ...driven }, packages: ready.packages }),
    desiredOf({ ...drawing.host, driver: { install: false } }),
    [
      'refused: agents may use graphics and video, and the installed driver (driver: none) lacks nvidia-egl-icd, nvidia-vulkan-icd, libglx-nvidia0, libgles-nvidia2, libnvidia-encode1, libnvcuvid1',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'a .run file brings all of it',
    merge(afterwards(ready, drawing), { packages: ready.packages, driver: { runfile: true } }),
    drawing,
    [],
  ],
];
