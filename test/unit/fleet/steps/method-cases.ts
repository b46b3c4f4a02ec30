import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf } from '../../../support/host.ts';
import { runfileCases } from './runfile-cases.ts';
import { afterDriver } from './host-stack-lines.ts';

const distro = desiredOf({ driver: { method: 'distro' } });
const asked = desiredOf({ driver: { method: 'distro', branch: '535' } });
const debianKernel = { 'linux-image-amd64': '6.1.129-1' };
const runfile = desiredOf({ driver: { method: 'runfile' } });

/** Where the driver comes from, in the form of host-stack-cases.ts. */
export const methodCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'method distro on a system without a supported driver',
    factsOf({ os: { id: 'rocky', versionId: '9.4', pretty: 'Rocky Linux 9.4' } }),
    distro,
    ["refused: azp-fleet installs no driver from Rocky Linux 9.4's own package repositories", ...afterDriver],
  ],
  [
    "a system's own driver",
    factsOf({ packages: debianKernel }),
    asked,
    [
      "install NVIDIA driver 535 (the distribution's own, proprietary kernel modules, compute only) [nothing]",
      ...afterDriver,
    ],
  ],
  [
    "a distribution's own driver instead of NVIDIA's",
    factsOf({
      driver: { loaded: '595.71.05', userspace: '595.71.05', open: true },
      packages: { 'nvidia-driver-cuda': '595.71.05-1', 'cuda-keyring': '1.1-1' },
    }),
    asked,
    [
      "downgrade NVIDIA driver 595.71.05 → 535 (the distribution's own, proprietary kernel modules) [machine]",
      'reboot the host [machine]',
      ...afterDriver,
    ],
  ],
  [
    "a system's own driver for a GPU that is newer",
    factsOf({ gpus: [{ address: '0000:83:00.0', deviceId: '2901', boundTo: undefined }] }),
    asked,
    [
      'refused: driver branch 535 does not support GPU 0000:83:00.0 (10de:2901, Blackwell); 570 is the first one that does',
      ...afterDriver,
    ],
  ],
  [
    "a system's own driver behind NVSwitches",
    factsOf({ nvswitches: 4 }),
    asked,
    [
      'refused: the driver packages of Debian GNU/Linux 12 (bookworm) lack the fabric manager that NVSwitches need',
      ...afterDriver,
    ],
  ],
  ["a driver of a system's own that runs", factsOf({ driver: driven }), distro, afterDriver],
  [
    'the driver of a .run file that runs',
    factsOf({ driver: { loaded: '580.95.05', open: true, runfile: true } }),
    runfile,
    afterDriver,
  ],
  ...runfileCases,
];
