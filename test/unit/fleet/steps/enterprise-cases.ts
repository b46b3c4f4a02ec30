import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { systems } from '../../../../src/fleet/packages/systems.ts';
import { withNewerVersions } from '../../../../src/fleet/steps/newer.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';

type Case = [string, Facts, Desired, readonly string[]];

const defaults = desiredOf();
const kernel = '5.14.0-503.11.1.el9_5.x86_64';
const newer = '5.14.0-570.12.1.el9_6.x86_64';
const kernelPackages = {
  'kernel-core': '5.14.0-503.11.1.el9_5',
  [`kernel-core-${kernel}`]: '5.14.0-503.11.1.el9_5',
};

/** A freshly installed system of the family, without a compiler and without headers. */
export function bareOf(id: string, versionId: string, arch = 'x86_64'): Facts {
  return {
    ...factsOf({
      os: { id, idLike: ['fedora'], versionId, codename: '', pretty: `${id} ${versionId}` },
      arch,
      kernel,
      kernels: [{ release: kernel, headers: false, driver: false }],
      lacksToBuild: ['gcc', 'make'],
    }),
    packages: kernelPackages,
  };
}

const fresh = [
  'add NVIDIA package repository [nothing]',
  'install NVIDIA driver 580 (open kernel modules, compute only) [nothing]',
  'add Docker package repository [nothing]',
  'configure Docker Engine: live-restore, log-opts [nothing]',
  'install Docker Engine 29.7.2 [nothing]',
  'add NVIDIA Container Toolkit package repository [nothing]',
  'install NVIDIA Container Toolkit 1.20.0 [nothing]',
  'restart Docker Engine with runtimes [new-containers]',
  'write the CDI specification [new-containers]',
];

/** Returns the host with another driver version in the same packages. */
export const withDriver = (facts: Facts, version: string): Facts =>
  merge(facts, {
    driver: { loaded: version, userspace: version, open: true },
    packages: Object.fromEntries(
      Object.keys(facts.packages)
        .filter((name) => name.includes('nvidia-') && !name.includes('container'))
        .map((name) => [name, `3:${version}-1.el9`]),
    ),
  });

/** Returns the cases of one system: host states and the plans for them. */
function casesOf(id: string, versionId: string, arch?: string): Case[] {
  const name = `${id} ${versionId}${arch === undefined ? '' : ` on ${arch}`}`;
  const bare = bareOf(id, versionId, arch);
  const ready = afterwards(bare, defaults);
  const newerDriver = withDriver(ready, '595.71.05');
  const loose = ready.held.filter((each) => !each.startsWith('docker-ce'));
  const { 'kmod-nvidia-open-dkms': _, ...half } = ready.packages;
  return [
    [`${name}, fresh`, bare, defaults, fresh],
    [`${name}, current`, ready, defaults, []],
    [
      `${name}, older`,
      withDriver(ready, '570.86.10'),
      defaults,
      [
        'upgrade NVIDIA driver 570.86.10 → 580 (open kernel modules) [machine]',
        'reboot the host [machine]',
        'write the CDI specification [new-containers]',
      ],
    ],
    [
      `${name}, newer`,
      newerDriver,
      defaults,
      [
        'downgrade NVIDIA driver 595.71.05 → 580 (open kernel modules) [machine]',
        'reboot the host [machine]',
        'write the CDI specification [new-containers]',
      ],
    ],
    [
      `${name}, newer, and newer versions are allowed`,
      newerDriver,
      withNewerVersions(newerDriver, desiredOf({ driver: { orNewer: true } })),
      ['write the CDI specification [new-containers]'],
    ],
    [
      `${name}, without a versionlock on Docker`,
      { ...ready, held: loose },
      defaults,
      ['hold the Docker packages [nothing]'],
    ],
    [
      `${name}, with the engine of the system, runc and buildah`,
      {
        ...bare,
        packages: { ...bare.packages, docker: '1.13.1-1', runc: '4:1.1.12-1.el9', buildah: '2:1.33-1.el9' },
      },
      defaults,
      fresh.map((line) => line.replace('install Docker Engine', 'change to Docker Engine')),
    ],
    [
      `${name}, half installed`,
      {
        ...ready,
        packages: half,
        driver: { ...ready.driver, loaded: undefined, open: undefined },
      },
      defaults,
      [
        'change to NVIDIA driver 580 (open kernel modules) [nothing]',
        'write the CDI specification [new-containers]',
      ],
    ],
    [
      `${name}, with a display card that is ignored, and nouveau for it`,
      merge(bare, {
        driver: { nouveau: true },
        ignoredGpus: [{ address: '0000:02:00.0', deviceId: '128b', boundTo: 'nouveau' }],
      }),
      defaults,
      [...fresh.slice(0, 2), 'reboot the host [machine]', ...fresh.slice(2)],
    ],
    [
      `${name}, where a kernel upgrade waits for a reboot`,
      {
        ...bare,
        packages: { ...kernelPackages, [`kernel-core-${newer}`]: '5.14.0-570.12.1.el9_6' },
        kernels: [...bare.kernels, { release: newer, headers: false, driver: false }],
        rebootRequired: true,
      },
      defaults,
      [...fresh.slice(0, 2), 'reboot the host [machine]', ...fresh.slice(2)],
    ],
    [
      `${name}, a Podman host`,
      { ...bare, docker: { ...bare.docker, podman: true }, packages: { ...bare.packages, podman: '4:4.9' } },
      defaults,
      [
        ...fresh.slice(0, 2),
        'refused: this is a Podman host; Docker Engine would take over its containers’ network and commands',
        ...fresh.slice(5),
      ],
    ],
  ];
}

const amazon = bareOf('amzn', '2023');
const withEngine = {
  ...amazon,
  packages: { ...amazon.packages, docker: '25.0.8-1.amzn2023', containerd: '1.7.27-1.amzn2023' },
  docker: { ...amazon.docker, serverVersion: '25.0.8', active: true, enabled: true },
};

/** Red Hat's systems and Amazon Linux, in the form of host-stack-cases.ts. */
export const enterpriseCases: readonly Case[] = [
  ...systems
    .filter(({ nvidia }) => nvidia.folder.startsWith('rhel'))
    .flatMap(({ id, versionId }) => casesOf(id, `${versionId}.5`)),
  ...casesOf('rocky', '9.5', 'aarch64'),
  [
    'Amazon Linux, fresh: gets its own engine, because Docker has none for it',
    amazon,
    defaults,
    [
      ...fresh.slice(0, 2),
      'configure Docker Engine: live-restore, log-opts [nothing]',
      "install Docker Engine (the distribution's own) [nothing]",
      ...fresh.slice(5, 7),
      'restart Docker Engine with its settings for GPUs [new-containers]',
      'write the CDI specification [new-containers]',
    ],
  ],
  ['Amazon Linux, fresh, with its engine installed', afterwards(amazon, defaults), defaults, []],
  [
    'Amazon Linux with its own engine at any version',
    withEngine,
    defaults,
    [
      ...fresh.slice(0, 2),
      'configure Docker Engine: live-restore, log-opts [containers]',
      ...fresh.slice(5, 7),
      'restart Docker Engine with runtimes, features, experimental [containers]',
      'write the CDI specification [new-containers]',
    ],
  ],
  ['Amazon Linux that is up to date', afterwards(withEngine, defaults), defaults, []],
];
