import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import { switchesOnUbuntu } from './fabric-cases.ts';
import { systems, type SystemName } from './systems.ts';
import type { ResolverCase, Subject } from './case.ts';

const loaded = (version: string) => ({ driver: { loaded: version, open: true } });
const asked = (branch: string) => ({ driver: { branch } });
const draws = { driverCapabilities: ['compute', 'utility', 'graphics', 'video'] } as const;
const anyBranch = { driver: { orNewer: true } } as const;

/** Branch 580 with open modules is configured. */
export const driver: Subject = {
  steps: [driverStep],
  cases: (on) => [displayCard, ...(systems[on].os.id === 'ubuntu' ? onUbuntu : onDebian(on))],
};

/** A card for a screen that the inventory leaves alone, beside those that compute: nouveau drives it, and is loaded for it. */
const displayCard: ResolverCase = {
  history: 'display card',
  what: 'a GT 710 that is ignored',
  facts: {
    driver: { nouveau: true },
    ignoredGpus: [{ address: '0000:02:00.0', deviceId: '128b', boundTo: 'nouveau' }],
  },
};

const archive = { components: ['main', 'contrib', 'non-free', 'non-free-firmware'] };
const cuda = (version: string): string =>
  `nvidia-driver-cuda=${version}-1 nvidia-kernel-open-dkms=${version}-1 libcuda1=${version}-1 libnvidia-ml1=${version}-1`;
/** With what X draws with, at one version. */
const screen = (version: string): string =>
  [
    'xserver-xorg-video-nvidia nvidia-driver nvidia-driver-libs nvidia-vdpau-driver libglx-nvidia0 libnvidia-glcore',
    'libegl-nvidia0 libnvidia-eglcore libgles-nvidia1 libgles-nvidia2 nvidia-egl-icd nvidia-vulkan-icd libnvidia-rtcore',
    'libnvidia-glvkspirv libnvidia-allocator1 libnvidia-cfg1 libnvidia-ptxjitcompiler1 firmware-nvidia-gsp',
    'nvidia-kernel-support nvidia-modprobe libnvidia-encode1 libnvidia-pkcs11-openssl3',
  ]
    .join(' ')
    .split(' ')
    .map((name) => `${name}=${version}-1`)
    .join(' ');

function onDebian(on: SystemName): ResolverCase[] {
  const [own, ownVersion] = on === 'Debian 12' ? ['535.261.03', '535'] : ['550.163.01', '550'];
  return [
    { history: 'fresh', what: 'nothing there' },
    { history: 'fresh', what: 'nothing there, and 595 is configured', desired: asked('595') },
    { history: 'fresh', what: 'nothing there, and agents draw and encode', desired: draws },
    {
      history: 'current',
      what: 'put there by hand, and agents draw and encode',
      past: { installed: ['nvidia-driver-pinning-580', cuda('580.105.08')] },
      facts: loaded('580.105.08'),
      desired: draws,
    },
    {
      history: 'current',
      what: 'put there by hand',
      past: { installed: ['nvidia-driver-pinning-580', cuda('580.105.08')] },
      facts: loaded('580.105.08'),
    },
    {
      history: 'older',
      what: '570, which we have held',
      past: {
        installed: ['nvidia-driver-pinning-570', cuda('570.158.01')],
        held: ['nvidia-driver-cuda', 'nvidia-kernel-open-dkms', 'libcuda1'],
      },
      facts: loaded('570.158.01'),
    },
    {
      history: 'newer',
      what: '595, and nothing older is configured',
      past: { installed: [cuda('595.71.05')] },
      facts: loaded('595.71.05'),
      desired: anyBranch,
    },
    {
      history: 'newer',
      what: '595, and 580 is configured',
      past: { installed: [cuda('595.71.05')] },
      facts: loaded('595.71.05'),
    },
    {
      history: 'held',
      what: 'a package outside our list, by its owner',
      past: { shipped: ['dkms'], held: ['dkms'] },
    },
    {
      history: 'conflicting',
      what: `the distribution's own ${ownVersion}`,
      past: { ...archive, shipped: ['nvidia-driver nvidia-smi nvidia-kernel-dkms nvidia-persistenced'] },
      facts: loaded(own),
    },
    {
      history: 'half-installed',
      what: 'the modules did not get configured',
      past: {
        installed: ['nvidia-driver-pinning-580', cuda('580.105.08')],
        unpacked: ['nvidia-kernel-open-dkms'],
      },
    },
    {
      history: 'desktop',
      what: '595, and nothing older is configured',
      past: { installed: ['lightdm', `${cuda('595.71.05')} ${screen('595.71.05')}`] },
      facts: loaded('595.71.05'),
      desired: anyBranch,
    },
    {
      history: 'desktop',
      what: '595, and 580 is configured',
      past: { installed: ['lightdm', `${cuda('595.71.05')} ${screen('595.71.05')}`] },
      facts: loaded('595.71.05'),
    },
  ];
}

const suffixed = (version: string): string =>
  [
    'libnvidia-compute-580',
    'nvidia-utils-580',
    'nvidia-dkms-580-open',
    'nvidia-kernel-common-580',
    'nvidia-kernel-source-580-open',
  ]
    .map((name) => `${name}=${version}`)
    .concat(`nvidia-firmware-580-${version.split('-')[0]}`)
    .join(' ');
const bare = (version: string): string =>
  [
    'libnvidia-compute',
    'nvidia-dkms-open',
    'nvidia-kernel-common',
    'nvidia-kernel-source-open',
    'nvidia-firmware',
    'libnvidia-gpucomp',
  ]
    .map((name) => `${name}=${version}`)
    .join(' ');
/** As `nvidia-driver-open` has them. */
const drawing = (version: string): string =>
  [
    'libnvidia-gl',
    'libnvidia-common',
    'libnvidia-extra',
    'libnvidia-decode',
    'libnvidia-encode',
    'xserver-xorg-video-nvidia',
    'libnvidia-cfg1',
    'libnvidia-fbc1',
    'nvidia-driver-open',
  ]
    .map((name) => `${name}=${version}`)
    .join(' ');

const drawingOf580 = (version: string): string =>
  drawing(version)
    .replaceAll('-open=', '-580-open=')
    .replaceAll(/([a-z1])=/g, '$1-580=')
    .replaceAll('-open-580=', '-open=');

const onUbuntu: readonly ResolverCase[] = [
  ...switchesOnUbuntu(suffixed),
  { history: 'fresh', what: 'nothing there' },
  { history: 'fresh', what: 'nothing there, and 595 is configured', desired: asked('595') },
  { history: 'fresh', what: 'nothing there, and agents draw and encode', desired: draws },
  {
    history: 'fresh',
    what: 'nothing there, 595 is configured, and agents draw and encode',
    desired: { ...asked('595'), ...draws },
  },
  {
    history: 'current',
    what: 'put there by hand, and agents draw and encode',
    past: { installed: [suffixed('580.159.04-1ubuntu1')] },
    facts: loaded('580.159.04'),
    desired: draws,
  },
  {
    history: 'current',
    what: "Canonical's 580 for servers, and agents draw and encode",
    past: { shipped: ['nvidia-headless-580-server-open nvidia-utils-580-server'] },
    facts: loaded('580.126.20'),
    desired: { ...draws, driver: { version: '580.126.20' } },
  },
  {
    history: 'fresh',
    what: 'nothing there, and proprietary modules are configured',
    desired: { driver: { flavor: 'proprietary' } },
  },
  {
    history: 'current',
    what: 'put there by hand',
    past: { installed: [suffixed('580.159.04-1ubuntu1')] },
    facts: loaded('580.159.04'),
  },
  {
    history: 'older',
    what: 'another version of the branch',
    past: { installed: [suffixed('580.95.05-0ubuntu1')] },
    facts: loaded('580.95.05'),
    desired: { driver: { version: '580.159.04' } },
  },
  {
    history: 'older',
    what: "Canonical's 535, headless, held by its owner",
    past: {
      shipped: ['nvidia-headless-535 nvidia-utils-535'],
      held: [
        'nvidia-headless-535',
        'libnvidia-compute-535',
        'nvidia-dkms-535',
        'libnvidia-cfg1-535',
        'nvidia-firmware-535-535.288.01',
      ],
    },
    facts: loaded('535.288.01'),
  },
  {
    history: 'newer',
    what: '595, and nothing older is configured',
    past: { installed: [bare('595.71.05-1ubuntu1')] },
    facts: loaded('595.71.05'),
    desired: anyBranch,
  },
  {
    history: 'newer',
    what: '595, and 580 is configured',
    past: { installed: [bare('595.71.05-1ubuntu1')] },
    facts: loaded('595.71.05'),
  },
  {
    history: 'newer',
    what: '580.159.04, and 580.95.05 is configured',
    past: { installed: [suffixed('580.159.04-1ubuntu1')] },
    facts: loaded('580.159.04'),
    desired: { driver: { version: '580.95.05' } },
  },
  {
    history: 'held',
    what: 'a package outside our list, by its owner',
    past: { shipped: ['dkms'], held: ['dkms'] },
  },
  {
    history: 'conflicting',
    what: "Canonical's 580 for servers",
    past: { shipped: ['nvidia-headless-580-server-open nvidia-utils-580-server'] },
    facts: loaded('580.126.20'),
    desired: { driver: { version: '580.159.04' } },
  },
  {
    history: 'conflicting',
    what: '580 goes to 595, which has other names',
    past: {
      installed: [suffixed('580.159.04-1ubuntu1')],
      held: ['libnvidia-compute-580', 'nvidia-utils-580', 'nvidia-dkms-580-open', 'nvidia-kernel-common-580'],
    },
    facts: loaded('580.159.04'),
    desired: asked('595'),
  },
  {
    history: 'half-installed',
    what: 'the modules did not get configured',
    past: { installed: [suffixed('580.159.04-1ubuntu1')], unpacked: ['nvidia-dkms-580-open'] },
  },
  {
    history: 'desktop',
    what: 'another version of the branch',
    past: {
      installed: [
        'gdm3',
        `${suffixed('580.95.05-0ubuntu1')} nvidia-compute-utils-580=580.95.05-0ubuntu1 ${drawingOf580('580.95.05-0ubuntu1')}`,
      ],
    },
    facts: loaded('580.95.05'),
    desired: { driver: { version: '580.159.04' } },
  },
  {
    history: 'desktop',
    what: '595, and nothing older is configured',
    past: { installed: ['gdm3', `${bare('595.71.05-1ubuntu1')} ${drawing('595.71.05-1ubuntu1')}`] },
    facts: loaded('595.71.05'),
    desired: anyBranch,
  },
  {
    history: 'desktop',
    what: '595, and 580 is configured',
    past: { installed: ['gdm3', `${bare('595.71.05-1ubuntu1')} ${drawing('595.71.05-1ubuntu1')}`] },
    facts: loaded('595.71.05'),
  },
];
