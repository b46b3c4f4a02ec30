import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { factsOf } from '../../../support/host.ts';
import { includedOf } from '../../../support/included.ts';
import { runfileWith, runfile, built } from './runfile-desired.ts';
import { afterDriver } from './host-stack-lines.ts';

/** Cases where NVIDIA's `.run` file is unknown or refused, and one with the digest in the inventory. */
export const runfileRefusals: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'a .run file for ARM with unknown digest',
    factsOf({ arch: 'aarch64' }),
    runfile,
    ['refused: azp-fleet knows no .run file of driver branch 580 for aarch64', ...afterDriver],
  ],
  [
    'a .run file of a version with unknown digest',
    factsOf(),
    runfileWith({ version: '580.126.99' }),
    [
      'refused: unknown sha256 of NVIDIA-Linux-x86_64-580.126.99.run: azp-fleet runs it as root only after verifying it',
      ...afterDriver,
    ],
  ],
  [
    'a .run file for ARM, with its digest in the inventory',
    factsOf({ arch: 'aarch64', packages: built }),
    runfileWith({ version: '580.95.05', sha256: 'a'.repeat(64) }),
    [
      'download NVIDIA-Linux-aarch64-580.95.05.run [nothing]',
      'install NVIDIA driver 580.95.05 (.run file, open kernel modules, compute only) [nothing]',
      ...afterDriver,
    ],
  ],
  [
    'a .run file behind NVSwitches',
    factsOf({ nvswitches: 4 }),
    runfile,
    [
      'refused: a .run file contains no fabric manager, which NVSwitches need at the same version',
      ...afterDriver,
    ],
  ],
  [
    'a .run file, Secure Boot, and no key',
    factsOf({ driver: { secureBoot: true } }),
    runfile,
    [
      'refused: Secure Boot is on, and the kernel would reject modules built on this host: no signing key exists yet',
      ...afterDriver,
    ],
  ],
  [
    'a .run file of a branch that cannot leave a loaded module alone',
    factsOf({
      driver: { loaded: '570.86.10', userspace: '570.86.10', open: true, runfile: true },
      packages: built,
    }),
    runfileWith({ branch: '535' }),
    [
      'refused: the loaded module 570.86.10 holds the GPUs, and the .run files of branch 535 install only where they can load their module immediately',
      ...afterDriver,
    ],
  ],
  [
    'a .run file without disk space for it',
    factsOf({ disk: { '/': { freeBytes: 2e9, mount: '/' } } }),
    runfile,
    [
      "refused: NVIDIA's .run file needs 3.5 GB on / including the changes before it; 2.0 GB are free",
      ...afterDriver,
    ],
  ],
  [
    'a .run file with a bundle',
    factsOf(),
    { ...runfile, included: includedOf([]) },
    [
      'refused: a bundle contains packages, and no .run file of a driver',
      ...afterDriver.filter((line) => !line.startsWith('add ')),
    ],
  ],
];
