import { driverStep } from '../../../src/fleet/steps/driver/step.ts';
import { systems, type SystemName } from './systems.ts';
import type { ResolverCase, Subject } from './case.ts';

/** What a driver of branch 580 is built with, and for which kernels. */
export const kernels: Subject = { steps: [driverStep], cases };

function cases(on: SystemName): ResolverCase[] {
  const { os, kernel } = systems[on];
  const debian = os.id === 'debian';
  const image = debian ? 'linux-image-amd64' : 'linux-image-generic';
  const release = debian ? '580.105.08' : '580.159.04';
  const driver = (
    debian
      ? 'nvidia-driver-cuda nvidia-kernel-open-dkms nvidia-kernel-support nvidia-modprobe firmware-nvidia-gsp libnvidia-ml1 libcuda1 libnvidia-ptxjitcompiler1 libnvidia-pkcs11-openssl3'
      : 'libnvidia-compute-580 nvidia-utils-580 nvidia-dkms-580-open nvidia-compute-utils-580'
  )
    .split(' ')
    .map((name) => `${name}=${release}-1${debian ? '' : 'ubuntu1'}`);
  // Older than any of its lists'.
  const gone = debian ? '5.10.0-8-amd64' : '5.4.0-26-generic';
  const running = { release: kernel, headers: false, driver: false };
  const lacking = { kernels: [running], lacksToBuild: ['gcc', 'make'] };
  const served = {
    kernels: [{ ...running, headers: true, driver: true }],
    driver: { loaded: release, open: true },
  };
  const past = {
    installed: [`--no-install-recommends ${driver.join(' ')}`],
    components: ['main', 'contrib'],
  };
  return [
    ...(oldDkms.includes(on) ? withoutDkms : []),
    { history: 'fresh', what: 'a kernel without headers, compiler and make', facts: lacking },
    {
      history: 'held',
      what: 'a kernel that its owner keeps',
      past: { held: [image, `linux-image-${kernel}`] },
      facts: lacking,
    },
    {
      history: 'current',
      what: 'a driver that the next kernel upgrade would end',
      past: {
        installed: [`--no-install-recommends ${driver.join(' ')} linux-headers-${kernel}`],
        components: ['main', 'contrib'],
      },
      facts: served,
    },
    {
      history: 'kernel upgraded',
      what: 'it runs, without headers, and no driver was built for it',
      past,
      facts: { kernels: [running] },
    },
    {
      history: 'kernel upgraded',
      what: 'it boots next, and the archive has the one that runs no more',
      past,
      facts: {
        kernel: gone,
        kernels: [{ release: gone, headers: true, driver: true }, running],
        driver: { loaded: release, open: true },
      },
    },
  ];
}

/** Their own dkms is older than NVIDIA's packages of today want. */
const oldDkms: readonly SystemName[] = ['Debian 12', 'Ubuntu 22.04'];
const withoutDkms: readonly ResolverCase[] = [
  {
    history: 'fresh',
    what: "NVIDIA's source has no dkms",
    past: { unoffered: ['dkms'] },
  },
  {
    history: 'fresh',
    what: "NVIDIA's source has no dkms, and a GPU needs 570",
    past: { unoffered: ['dkms'] },
    facts: { gpus: [{ address: '0000:83:00.0', deviceId: '2bb1', boundTo: undefined }] },
  },
];
