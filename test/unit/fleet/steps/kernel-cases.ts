import type { Facts, InstalledKernel } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';
import { afterDriver, bareLines, driverWithNouveau } from './host-stack-lines.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const debian = { 'linux-image-6.1.0-32-amd64': '6.1.129-1', 'linux-image-amd64': '6.1.129-1' };
const upgraded = { ...debian, 'linux-image-6.1.0-40-amd64': '6.1.153-1', 'linux-image-amd64': '6.1.153-1' };
const running = { release: '6.1.0-32-amd64', headers: true, driver: true };
const next = { release: '6.1.0-40-amd64', headers: false, driver: false };

/** A provisioned host: the driver runs, and no package follows the kernel. */
const served = (kernels: readonly InstalledKernel[], packages: Facts['packages']) =>
  factsOf({ ...ready, kernels, packages: { ...ready.packages, ...packages } });

/** Kernels and their upgrades, in the form of host-stack-cases.ts. */
export const kernelCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'a bare host whose kernel will be upgraded',
    factsOf({ packages: debian, lacksToBuild: ['gcc', 'make'] }),
    defaults,
    bareLines,
  ],
  [
    'a bare host with a newer kernel that requires no reboot',
    factsOf({ packages: upgraded, kernels: [{ ...running, driver: false }, next] }),
    defaults,
    bareLines,
  ],
  [
    'a bare host that needs a reboot into a newer kernel, without headers of the old one',
    factsOf({
      packages: upgraded,
      kernels: [{ ...running, headers: false, driver: false }, next],
      rebootRequired: true,
    }),
    defaults,
    [...driverWithNouveau, ...afterDriver],
  ],
  [
    'a reboot that another package requires changes nothing',
    factsOf({ rebootRequired: true, kernels: [{ ...running, headers: false, driver: false }] }),
    defaults,
    bareLines,
  ],
  [
    'a driver without headers for the next kernel upgrade',
    served([running], debian),
    defaults,
    ['install linux-headers-amd64 [nothing]'],
  ],
  [
    'a driver without a module for the next boot',
    served([running, next], { ...upgraded, 'linux-headers-amd64': '6.1.153-1' }),
    defaults,
    [
      'install linux-headers-6.1.0-40-amd64 [nothing]',
      'build the NVIDIA module for Linux 6.1.0-40-amd64 [nothing]',
    ],
  ],
  [
    'headers that were installed after a failed build',
    served([running, { ...next, headers: true }], { ...upgraded, 'linux-headers-amd64': '6.1.153-1' }),
    defaults,
    ['build the NVIDIA module for Linux 6.1.0-40-amd64 [nothing]'],
  ],
  [
    'a next kernel that has its driver',
    served([running, { ...next, headers: true, driver: true }], {
      ...upgraded,
      'linux-headers-amd64': '6.1.153-1',
    }),
    defaults,
    [],
  ],
  [
    'a kernel that its owner holds back',
    { ...served([running], debian), held: [...ready.held, 'linux-image-amd64'].sort() },
    defaults,
    [],
  ],
  [
    'the kernel upgrade has removed the GPUs',
    factsOf({
      ...served([{ ...next, release: '6.1.0-40-amd64' }], upgraded),
      driver: { ...ready.driver, loaded: undefined, open: undefined },
    }),
    defaults,
    [
      'install linux-headers-6.1.0-40-amd64, linux-headers-amd64 [nothing]',
      'load the NVIDIA kernel module [nothing]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    "another user's driver, whose modules azp-fleet does not build",
    factsOf({
      driver: { loaded: '580.95.05', open: false, userspace: '580.95.05', runfile: true },
      packages: debian,
    }),
    defaults,
    afterDriver,
  ],
];
