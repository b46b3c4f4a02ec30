import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { runfileRefusals } from './runfile-refusals.ts';
import {
  runfileWith,
  runfile,
  built,
  release,
  upgraded,
  newKernel,
  runs,
  registered,
  ours,
  known,
} from './runfile-desired.ts';
import { afterDriver } from './host-stack-lines.ts';

/** NVIDIA's `.run` file, in the form of host-stack-cases.ts. */
export const runfileCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'fresh: the newest known .run file of the branch',
    factsOf(),
    runfile,
    [
      'install dkms, libelf-dev [nothing]',
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      `install NVIDIA driver ${known} [nothing]`,
      ...afterDriver,
    ],
  ],
  [
    'fresh: a .run file on a kernel without headers, compiler and make, beside the kernel of the next boot',
    factsOf({
      kernels: [{ release, headers: false, driver: false }, upgraded[1]],
      lacksToBuild: ['gcc', 'make'],
      packages: newKernel,
    }),
    runfile,
    [
      `install linux-headers-${release}, linux-headers-6.1.0-38-amd64, linux-headers-amd64, gcc, make, dkms, libelf-dev [nothing]`,
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      `install NVIDIA driver ${known} [nothing]`,
      ...afterDriver,
    ],
  ],
  [
    'fresh: a .run file, an exact version, with graphics',
    factsOf(),
    runfileWith(
      { branch: '595', version: '595.84' },
      { driverCapabilities: ['compute', 'utility', 'graphics'] },
    ),
    [
      'install dkms, libelf-dev, pkg-config, libglvnd-dev [nothing]',
      'download NVIDIA-Linux-x86_64-595.84.run [nothing]',
      'install NVIDIA driver 595.84 (.run file, open kernel modules, with graphics) [nothing]',
      ...afterDriver,
    ],
  ],
  [
    'fresh: a .run file while nouveau drives the GPUs',
    factsOf({ driver: { nouveau: true }, packages: built }),
    runfile,
    [
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      `install NVIDIA driver ${known} [nothing]`,
      'reboot the host [machine]',
      ...afterDriver,
    ],
  ],
  [
    'fresh: a .run file for Rocky Linux 9',
    factsOf({
      os: { id: 'rocky', versionId: '9.6', pretty: 'Rocky Linux 9.6' },
      kernels: [{ release: '5.14.0-570.el9.x86_64', headers: false, driver: false }],
      packages: {},
    }),
    runfile,
    [
      'install kernel-devel-5.14.0-570.el9.x86_64, dkms, elfutils-libelf-devel [nothing]',
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      `install NVIDIA driver ${known} [nothing]`,
      ...afterDriver,
    ],
  ],
  [
    'current: the driver of a .run file, ours',
    factsOf({ driver: registered, ours, packages: built }),
    runfile,
    afterDriver,
  ],
  [
    'current: the driver of a .run file, ours, graphics newly configured',
    factsOf({ driver: registered, ours, packages: built }),
    runfileWith({ version: '580.178.04' }, { driverCapabilities: ['compute', 'graphics'] }),
    [
      'install pkg-config, libglvnd-dev [nothing]',
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      'change to NVIDIA driver 580.178.04 (.run file, open kernel modules, with graphics) [containers]',
      ...afterDriver,
    ],
  ],
  [
    'older: the driver of a .run file of another branch',
    factsOf({
      driver: { loaded: '570.86.10', userspace: '570.86.10', open: true, runfile: true, dkms: 'registered' },
      packages: built,
    }),
    runfileWith({ version: '580.95.05' }),
    [
      'download NVIDIA-Linux-x86_64-580.95.05.run [nothing]',
      'upgrade NVIDIA driver 570.86.10 → 580.95.05 (.run file, open kernel modules, compute only) [machine]',
      'reboot the host [machine]',
      ...afterDriver,
    ],
  ],
  [
    'newer: the driver of a .run file of a newer branch, and an older one is configured',
    factsOf({
      driver: { loaded: '595.84', userspace: '595.84', open: true, runfile: true, dkms: 'registered' },
      packages: built,
    }),
    runfile,
    [
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      `downgrade NVIDIA driver 595.84 → ${known} [machine]`,
      'reboot the host [machine]',
      ...afterDriver,
    ],
  ],
  [
    'conflicting: driver packages are installed, and a .run file is configured',
    factsOf({
      driver: { loaded: '570.86.10', userspace: '570.86.10', open: true },
      packages: { 'nvidia-driver-cuda': '570.86.10-1', 'nvidia-kernel-open-dkms': '570.86.10-1' },
    }),
    runfile,
    [
      'refused: a driver is installed from packages (nvidia-driver-cuda, nvidia-kernel-open-dkms); a .run file must not be mixed with them',
      ...afterDriver,
    ],
  ],
  [
    'conflicting: a .run file is installed, and packages are configured',
    factsOf({ driver: { loaded: '570.86.10', userspace: '570.86.10', open: true, runfile: true } }),
    desiredOf(),
    ['refused: a driver from a .run file is installed; packages must not be mixed with it', ...afterDriver],
  ],
  [
    'half-installed: a .run file whose driver was never loaded',
    factsOf({
      driver: { userspace: '580.178.04', runfile: true, dkms: 'registered' },
      ours,
      packages: built,
    }),
    runfile,
    ['load the NVIDIA kernel module [nothing]', ...afterDriver],
  ],
  [
    'half-installed: a .run file whose installer was interrupted',
    factsOf({ driver: { runfile: true }, packages: built }),
    runfile,
    [
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      `install NVIDIA driver ${known} [nothing]`,
      ...afterDriver,
    ],
  ],
  [
    'half-installed: the reboot after a .run file is pending',
    factsOf({
      driver: { ...registered, loaded: '570.86.10' },
      ours,
      packages: built,
    }),
    runfile,
    ['reboot the host [machine]', ...afterDriver],
  ],
  [
    'desktop: a .run file on a host with a desktop',
    factsOf({ packages: { gdm3: '43.0-3' } }),
    runfile,
    ['refused: this host has a desktop, and a .run file overwrites its graphics libraries', ...afterDriver],
  ],
  [
    'display card: a .run file that does not support it',
    factsOf({
      gpus: [
        { address: '0000:03:00.0', deviceId: '128b', boundTo: undefined },
        { address: '0000:83:00.0', deviceId: '2684', boundTo: undefined },
      ],
    }),
    runfile,
    [
      'refused: driver branch 580 does not support GPU 0000:03:00.0 (10de:128b, Kepler); 470 is the last one that does',
      ...afterDriver,
    ],
  ],
  [
    'held: a kernel on hold needs no headers for a .run file',
    factsOf({
      packages: { ...built, 'linux-image-amd64': '6.1.129-1' },
      held: ['linux-image-amd64'],
    }),
    runfile,
    [
      'download NVIDIA-Linux-x86_64-580.178.04.run [nothing]',
      `install NVIDIA driver ${known} [nothing]`,
      ...afterDriver,
    ],
  ],
  [
    'the next kernel: its module is built for the driver of our .run file',
    factsOf({
      driver: registered,
      ours,
      kernels: upgraded,
      lacksToBuild: ['gcc'],
      packages: { ...built, ...newKernel },
    }),
    runfile,
    [
      'install linux-headers-6.1.0-38-amd64, linux-headers-amd64, gcc [nothing]',
      'build the NVIDIA module for Linux 6.1.0-38-amd64 [nothing]',
      ...afterDriver,
    ],
  ],
  [
    "the next kernel: the driver of its owner's .run file, without DKMS, with its sources",
    factsOf({
      driver: { ...runs, dkms: 'sources' },
      kernels: upgraded,
      lacksToBuild: ['gcc', 'make'],
      packages: newKernel,
    }),
    desiredOf(),
    [
      'install linux-headers-6.1.0-38-amd64, linux-headers-amd64, gcc, make, dkms, libelf-dev [nothing]',
      'register NVIDIA driver 580.178.04 with DKMS [nothing]',
      'build the NVIDIA module for Linux 6.1.0-38-amd64 [nothing]',
      ...afterDriver,
    ],
  ],
  [
    "the next kernel: the driver of its owner's .run file, without DKMS and without sources",
    factsOf({
      driver: runs,
      kernels: upgraded,
      packages: { ...built, ...newKernel, 'linux-headers-amd64': '1' },
    }),
    desiredOf(),
    [
      'install linux-headers-6.1.0-38-amd64 [nothing]',
      "refused: Linux 6.1.0-38-amd64, which boots next, has no NVIDIA module, and the driver of the owner's .run file is not registered with DKMS",
      ...afterDriver,
    ],
  ],
  ...runfileRefusals,
];
