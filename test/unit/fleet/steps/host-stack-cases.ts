import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';
import { cdiCases } from './cdi-cases.ts';
import { dgxCases } from './dgx-cases.ts';
import { enterpriseCases } from './enterprise-cases.ts';
import { fabricCases } from './fabric-cases.ts';
import { interruptedCases } from './interrupted-cases.ts';
import { kernelCases } from './kernel-cases.ts';
import { leftCases } from './left-cases.ts';
import { usesCases } from './uses-cases.ts';
import { methodCases } from './method-cases.ts';
import { secureBootCases } from './secure-boot-cases.ts';
import { afterDriver, bareLines, dockerLines } from './host-stack-lines.ts';

const defaults = desiredOf();
/** A host that is up to date. */
const ready = afterwards(factsOf(), defaults);
const ubuntu = {
  id: 'ubuntu',
  idLike: ['debian'],
  versionId: '24.04',
  codename: 'noble',
  pretty: 'Ubuntu 24.04',
};

/** Cases: name, facts, desired state, lines of the plan. */
export const cases: readonly [string, Facts, Desired, readonly string[]][] = [
  ['a bare Debian 12', factsOf(), defaults, bareLines],
  ['a host that is up to date', ready, defaults, []],
  [
    'nouveau drives the GPUs',
    factsOf({ driver: { nouveau: true } }),
    desiredOf({ docker: { version: '24.0.9' } }),
    [
      'add NVIDIA package repository [nothing]',
      'install NVIDIA driver 580 (open kernel modules, compute only) [nothing]',
      'reboot the host [machine]',
      'add Docker package repository [nothing]',
      'configure Docker Engine: live-restore, log-opts [nothing]',
      'install Docker Engine 24.0.9 [nothing]',
      'add NVIDIA Container Toolkit package repository [nothing]',
      'install NVIDIA Container Toolkit 1.20.0 [nothing]',
      'restart Docker Engine with runtimes [new-containers]',
    ],
  ],
  [
    'another driver branch runs under containers',
    factsOf({
      ...ready,
      driver: { ...ready.driver, loaded: '570.86.10', userspace: '570.86.10' },
      packages: {
        ...ready.packages,
        'nvidia-driver-cuda': '570.86.10-1',
        'nvidia-kernel-open-dkms': '570.86.10-1',
      },
    }),
    defaults,
    [
      'upgrade NVIDIA driver 570.86.10 → 580 (open kernel modules) [machine]',
      'reboot the host [machine]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'the libraries were upgraded under the loaded module',
    factsOf({ ...ready, driver: { ...ready.driver, loaded: '580.65.06' } }),
    defaults,
    ['reboot the host [machine]', 'write the CDI specification [new-containers]'],
  ],
  [
    'an interrupted run left the driver unloaded',
    factsOf({ ...ready, driver: { ...ready.driver, loaded: undefined, open: undefined } }),
    defaults,
    ['load the NVIDIA kernel module [nothing]', 'write the CDI specification [new-containers]'],
  ],
  [
    "another user's driver of the desired branch is left alone",
    factsOf({ driver: { loaded: '580.95.05', open: false, userspace: '580.95.05', runfile: true } }),
    defaults,
    afterDriver,
  ],
  [
    "a host with Debian's Docker",
    factsOf({
      ...ready,
      packages: {
        ...without(ready.packages, 'docker-ce', 'docker-ce-cli', 'containerd.io'),
        'docker.io': '20.10.24+dfsg1-1',
        containerd: '1.6.20',
        runc: '1.1.5',
      },
      docker: { ...ready.docker, serverVersion: '20.10.24+dfsg1', liveRestore: false },
    }),
    defaults,
    ['change to Docker Engine 29.7.2 [containers]'],
  ],
  [
    'an owner’s daemon.json, on an engine without live-restore',
    factsOf({
      ...ready,
      docker: { ...ready.docker, daemonJson: '{"data-root":"/data/docker"}', liveRestore: false },
    }),
    defaults,
    [
      'configure Docker Engine: live-restore, log-opts [containers]',
      'restart Docker Engine with runtimes [containers]',
    ],
  ],
  [
    'no package is held',
    { ...ready, held: [] },
    defaults,
    [
      'hold the NVIDIA driver packages [nothing]',
      'hold the Docker packages [nothing]',
      'hold the NVIDIA Container Toolkit packages [nothing]',
    ],
  ],
  [
    'dockerd was stopped',
    factsOf({ ...ready, docker: { ...ready.docker, active: false, serverVersion: undefined } }),
    defaults,
    ['start Docker Engine, now and at boot [nothing]'],
  ],
  [
    'dockerd is older than the toolkit',
    factsOf({ ...ready, docker: { ...ready.docker, restartNeeded: true } }),
    defaults,
    ['restart Docker Engine for the NVIDIA Container Toolkit [new-containers]'],
  ],
  [
    'an engine without its plugins, not held',
    factsOf({
      ...ready,
      packages: without(ready.packages, 'docker-buildx-plugin'),
      held: ready.held.filter((name) => !name.startsWith('docker-')),
    }),
    defaults,
    ['install docker-buildx-plugin [nothing]', 'hold the Docker packages [nothing]'],
  ],
  [
    'the unit is disabled',
    factsOf({ ...ready, docker: { ...ready.docker, enabled: false } }),
    defaults,
    ['start Docker Engine, now and at boot [nothing]'],
  ],
  [
    "a site's certificate authority comes first",
    factsOf({ gpus: [] }),
    desiredOf({}, { proxy: { noProxy: [], caPem: '-----BEGIN CERTIFICATE-----' } }),
    ["trust the site's certificate authority [nothing]", ...dockerLines],
  ],
  [
    'a new certificate authority under a running engine',
    ready,
    desiredOf({}, { proxy: { noProxy: [], caPem: '-----BEGIN CERTIFICATE-----' } }),
    ["trust the site's certificate authority [nothing]", 'restart Docker Engine [new-containers]'],
  ],
  [
    'a CPU-only host whose engine has not loaded its new configuration',
    factsOf({ ...ready, gpus: [], docker: { ...ready.docker, restartNeeded: true } }),
    defaults,
    ['restart Docker Engine [new-containers]'],
  ],
  [
    'a machine without GPUs gets only Docker',
    factsOf({ gpus: [] }),
    defaults,
    [
      'add Docker package repository [nothing]',
      'configure Docker Engine: live-restore, log-opts [nothing]',
      'install Docker Engine 29.7.2 [nothing]',
    ],
  ],
  [
    'Docker 26 needs CDI enabled',
    factsOf({
      ...ready,
      packages: {
        ...ready.packages,
        'docker-ce': '5:26.1.5-1~debian.12~bookworm',
        'docker-ce-cli': '5:26.1.5-1~debian.12~bookworm',
      },
      docker: { ...ready.docker, serverVersion: '26.1.5+dfsg1' },
    }),
    desiredOf({ docker: { version: '26.1.5' } }),
    ['restart Docker Engine with features, experimental [new-containers]'],
  ],
  [
    'a toolkit upgrade under GPU containers',
    factsOf({
      ...ready,
      toolkit: { ...ready.toolkit, version: '1.19.1' },
      packages: { ...ready.packages, 'nvidia-container-toolkit': '1.19.1-1' },
    }),
    defaults,
    [
      'upgrade NVIDIA Container Toolkit 1.19.1 → 1.20.0 [containers]',
      'restart Docker Engine for the NVIDIA Container Toolkit [new-containers]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'a Pascal card with branch 595',
    factsOf({ gpus: [{ address: '0000:01:00.0', deviceId: '15f8', boundTo: undefined }] }),
    desiredOf({ driver: { branch: '595' } }),
    [
      'refused: driver branch 595 does not support GPU 0000:01:00.0 (10de:15f8, Pascal); 580 is the last one that does',
      ...afterDriver,
    ],
  ],
  [
    'snap',
    factsOf({ gpus: [], docker: { snap: true } }),
    defaults,
    ['refused: Docker is installed as a snap, which does not support GPUs in containers'],
  ],
  [
    'a proxy, and a Docker release without support for it in daemon.json',
    factsOf({ gpus: [] }),
    desiredOf(
      { docker: { version: '20.10.24' } },
      { proxy: { https: 'http://proxy.example:3128', noProxy: [] } },
    ),
    ['refused: Docker 20.10.24 supports no proxy in daemon.json, and the inventory has a proxy'],
  ],
  [
    'a comment in daemon.json',
    factsOf({ gpus: [], docker: { daemonJson: '{ // mine\n}' } }),
    defaults,
    ['refused: /etc/docker/daemon.json is not a JSON object'],
  ],
  [
    'no GPU although the inventory has two',
    factsOf({ gpus: [] }),
    desiredOf({ gpus: 2 }),
    ['refused: PCI shows no NVIDIA GPU, and the inventory says gpus: 2', ...dockerLines],
  ],
  [
    'Fedora',
    factsOf({ os: { id: 'fedora', versionId: '44', pretty: 'Fedora Linux 44' } }),
    defaults,
    Array.from(
      { length: 3 },
      () =>
        'refused: Fedora Linux 44 is not supported: a release has support for 13 months, and its kernels are newer than those that drivers are made for',
    ),
  ],
  [
    'driver: none',
    factsOf({ driver: { loaded: '550.163.01', userspace: '550.163.01' } }),
    desiredOf({ driver: { install: false } }),
    afterDriver,
  ],
  [
    'driver: none, and no driver installed',
    factsOf(),
    desiredOf({ driver: { install: false } }),
    ['refused: driver: none, and no NVIDIA driver is loaded', ...afterDriver],
  ],
  ['a bare Ubuntu 24.04', factsOf({ os: ubuntu }), defaults, bareLines],
  ...cdiCases,
  ...dgxCases,
  ...enterpriseCases,
  ...methodCases,
  ...fabricCases,
  ...interruptedCases,
  ...kernelCases,
  ...leftCases,
  ...secureBootCases,
  ...usesCases,
];

function without<T>(record: Readonly<Record<string, T>>, ...keys: string[]): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}
