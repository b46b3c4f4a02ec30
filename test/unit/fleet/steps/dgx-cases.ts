import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';

const defaults = desiredOf();
const none = desiredOf({ driver: { install: false } });
const nvidia = {
  'docker-ce': '5:28.3.3-1~ubuntu.24.04~noble',
  'docker-ce-cli': '5:28.3.3-1~ubuntu.24.04~noble',
};

/** DGX OS as shipped: ID=ubuntu, with its own stack in other versions. */
const dgx = factsOf({
  os: { id: 'ubuntu', idLike: ['debian'], versionId: '24.04', codename: 'noble', pretty: 'NVIDIA DGX OS 7' },
  platform: 'dgx',
  driver: { loaded: '570.172.08', userspace: '570.172.08', open: true },
  packages: {
    ...nvidia,
    'nvidia-container-toolkit': '1.17.8-1',
    'linux-image-nvidia-hwe-24.04': '6.11.0-1013.13',
  },
  docker: {
    active: true,
    enabled: true,
    liveRestore: true,
    serverVersion: '28.3.3',
    runtimes: ['nvidia', 'runc'],
    daemonJson:
      '{"live-restore":true,"log-opts":{"max-size":"100m","max-file":"3"},"runtimes":{"nvidia":{"args":[],"path":"nvidia-container-runtime"}}}',
  },
  toolkit: { version: '1.17.8', cdiSpec: true, cdiDriver: '570.172.08', cdiOlder: false },
});

/** DGX OS, in the form of host-stack-cases.ts. */
export const dgxCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'DGX OS with a driver in the inventory',
    dgx,
    defaults,
    [
      'refused: this is DGX OS, which includes its own driver and package repositories',
      'write the CDI specification [new-containers]',
    ],
  ],
  ['DGX OS as shipped: nothing is added, held or replaced', dgx, none, []],
  [
    'DGX OS whose engine has no live-restore',
    factsOf({
      ...dgx,
      docker: { ...dgx.docker, daemonJson: undefined, liveRestore: false, runtimes: ['runc'] },
    }),
    none,
    [
      'configure Docker Engine: live-restore, log-opts [containers]',
      'restart Docker Engine with runtimes [containers]',
    ],
  ],
  [
    'DGX OS without an engine and a toolkit',
    factsOf({
      ...dgx,
      packages: {},
      docker: { ...dgx.docker, active: false, serverVersion: undefined },
      toolkit: { ...dgx.toolkit, version: undefined },
    }),
    none,
    [
      'refused: Docker Engine is not installed; DGX OS has its own',
      'refused: NVIDIA Container Toolkit is not installed; DGX OS has its own',
    ],
  ],
];
