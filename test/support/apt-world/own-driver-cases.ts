import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import { systems, type SystemName } from './systems.ts';
import type { ResolverCase, Subject } from './case.ts';

const loaded = (version: string, open = true) => ({ driver: { loaded: version, open } });
/** No branch is configured. */
const own = { driver: { method: 'distro', orNewer: true } } as const;
const asked = (branch: string) => ({ driver: { method: 'distro', branch } }) as const;
const draws = { driverCapabilities: ['compute', 'utility', 'graphics', 'video'] } as const;
const archive = { components: ['main', 'contrib', 'non-free', 'non-free-firmware'] };
const blackwell = { gpus: [{ address: '0000:83:00.0', deviceId: '2901', boundTo: undefined }] };

/** The distribution's driver is requested, or installed. */
export const ownDriver: Subject = {
  steps: [driverStep],
  cases: (on) => [...(systems[on].os.id === 'ubuntu' ? onUbuntu : onDebian(on))],
};

/** NVIDIA's, as we leave it: pinned and held, with its package source. */
const vendors = (version: string) => {
  const names = [
    'nvidia-driver-cuda',
    'nvidia-kernel-open-dkms',
    'libcuda1',
    'libnvidia-ml1',
    'nvidia-persistenced',
  ];
  return {
    installed: [
      `nvidia-driver-pinning-${version.split('.')[0]}`,
      `--no-install-recommends ${names.map((name) => `${name}=${version}-1`).join(' ')}`,
    ],
    held: [...names, 'libnvidia-ptxjitcompiler1', 'libnvidia-cfg1', 'nvidia-kernel-support'],
    keepsVendors: true,
  };
};

function onDebian(on: SystemName): ResolverCase[] {
  const kinds = ['nvidia-kernel-dkms', 'nvidia-open-kernel-dkms'] as const;
  const [version, [modules, otherModules], branch, otherFlavor] =
    on === 'Debian 12'
      ? (['535.261.03', kinds, '535', 'open'] as const)
      : (['550.163.01', [kinds[1], kinds[0]], '550', 'proprietary'] as const);
  const otherKind = { driver: { ...own.driver, flavor: otherFlavor } };
  const compute = `--no-install-recommends nvidia-smi libcuda1 nvidia-opencl-icd ${modules} nvidia-persistenced`;
  const runs = loaded(version, branch === '550');
  return [
    { history: 'fresh', what: 'nothing there', desired: own },
    { history: 'fresh', what: 'nothing there, and non-free in the sources', past: archive, desired: own },
    { history: 'fresh', what: 'nothing there, and agents draw and encode', desired: { ...own, ...draws } },
    {
      history: 'fresh',
      what: 'nothing there, and a branch that it lacks is configured',
      desired: asked('580'),
    },
    { history: 'fresh', what: 'a GPU that came after it', facts: blackwell, desired: own },
    { history: 'fresh', what: 'NVSwitches', facts: { nvswitches: 4 }, desired: own },
    {
      history: 'current',
      what: 'put there by hand, without a fabric manager for its switches',
      past: { ...archive, shipped: [compute] },
      facts: { nvswitches: 4, ...runs },
      desired: own,
    },
    {
      history: 'fresh',
      what: 'the other kind of modules is configured',
      desired: otherKind,
    },
    {
      history: 'current',
      what: 'put there by hand',
      past: { ...archive, shipped: [compute] },
      facts: runs,
      desired: own,
    },
    {
      history: 'current',
      what: 'put there by hand, and agents draw and encode',
      past: { ...archive, shipped: [compute] },
      facts: runs,
      desired: { ...own, ...draws },
    },
    {
      history: 'newer',
      what: "NVIDIA's 580, and nothing older is configured",
      past: vendors('580.105.08'),
      facts: loaded('580.105.08'),
      desired: own,
    },
    {
      history: 'conflicting',
      what: "NVIDIA's 580, and the distribution's branch is configured",
      past: vendors('580.105.08'),
      facts: loaded('580.105.08'),
      desired: asked(branch),
    },
    {
      history: 'conflicting',
      what: "the distribution's, as we leave it, and NVIDIA's 580 is configured",
      past: {
        ...archive,
        shipped: [compute],
        held: ['nvidia-smi', 'libcuda1', modules, 'libnvidia-ml1', 'nvidia-alternative', 'libnvidia-cfg1'],
      },
      facts: runs,
    },
    {
      history: 'conflicting',
      what: 'its other kind of modules, which runs',
      past: { ...archive, shipped: [compute] },
      facts: runs,
      desired: otherKind,
    },
    {
      history: 'conflicting',
      what: 'both kinds of modules, put there by hand',
      past: { ...archive, shipped: [compute, `--no-install-recommends ${otherModules}`] },
      desired: otherKind,
    },
    {
      history: 'half-installed',
      what: 'the modules did not get configured',
      past: { ...archive, shipped: [compute], unpacked: [modules] },
      desired: own,
    },
    {
      history: 'desktop',
      what: 'all of it, with what X draws with',
      past: { ...archive, shipped: ['lightdm', 'nvidia-driver nvidia-smi'] },
      facts: loaded(version, false),
      desired: own,
    },
  ];
}

const series = (version: string): string =>
  `nvidia-headless-${version}-server-open nvidia-utils-${version}-server`;
const suffixed = (version: string): string =>
  ['libnvidia-compute-580', 'nvidia-utils-580', 'nvidia-dkms-580-open', 'nvidia-kernel-common-580']
    .map((name) => `${name}=${version}`)
    .join(' ');
const bare = ['libnvidia-compute', 'nvidia-dkms-open'].map((name) => `${name}=595.71.05-1ubuntu1`).join(' ');

const onUbuntu: readonly ResolverCase[] = [
  { history: 'fresh', what: 'nothing there', desired: own },
  { history: 'fresh', what: 'NVSwitches', facts: { nvswitches: 4 }, desired: own },
  {
    history: 'fresh',
    what: 'NVSwitches, without multiverse in the sources',
    past: { components: ['main', 'restricted'] },
    facts: { nvswitches: 4 },
    desired: own,
  },
  {
    history: 'current',
    what: 'put there by hand, without the fabric manager of its switches',
    past: { shipped: [series('580')] },
    facts: { nvswitches: 4, ...loaded('580.126.20') },
    desired: own,
  },
  { history: 'fresh', what: 'nothing there, and agents draw and encode', desired: { ...own, ...draws } },
  {
    history: 'fresh',
    what: 'nothing there, and a branch that it lacks is configured',
    desired: asked('610'),
  },
  {
    history: 'fresh',
    what: 'proprietary modules are configured',
    desired: { driver: { ...own.driver, flavor: 'proprietary' } },
  },
  {
    history: 'current',
    what: 'put there by hand',
    past: { shipped: [series('580')] },
    facts: loaded('580.126.20'),
    desired: own,
  },
  {
    history: 'older',
    what: 'its 535, held by its owner',
    past: {
      shipped: [series('535')],
      held: [
        'nvidia-headless-535-server-open',
        'libnvidia-compute-535-server',
        'nvidia-dkms-535-server-open',
      ],
    },
    facts: loaded('535.288.01'),
    desired: own,
  },
  {
    history: 'conflicting',
    what: "NVIDIA's 595, and the distribution's 580 is configured",
    past: {
      installed: ['nvidia-driver-pinning-595', bare],
      held: ['libnvidia-compute', 'nvidia-dkms-open', 'nvidia-kernel-common'],
      keepsVendors: true,
    },
    facts: loaded('595.71.05'),
    desired: asked('580'),
  },
  {
    history: 'conflicting',
    what: "NVIDIA's 580, and a version of the distribution's is configured",
    past: { installed: [suffixed('580.159.04-1ubuntu1')], keepsVendors: true },
    facts: loaded('580.159.04'),
    desired: { driver: { method: 'distro', branch: '580', version: '580.126.20' } },
  },
  {
    history: 'half-installed',
    what: 'the modules did not get configured',
    past: { shipped: [series('580')], unpacked: ['nvidia-dkms-580-server-open'] },
    desired: own,
  },
];
