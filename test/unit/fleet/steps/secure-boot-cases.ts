import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';
import { afterDriver, bareLines } from './host-stack-lines.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const refused = 'refused: Secure Boot is on, and the kernel would reject modules built on this host';
const dkmsKey = { path: '/var/lib/dkms/mok.pub', configured: false, state: 'enrolled' } as const;
const ubuntu = {
  id: 'ubuntu',
  idLike: ['debian'],
  versionId: '24.04',
  codename: 'noble',
  pretty: 'Ubuntu 24.04',
};
const kernel = '6.8.0-45-generic';
const kernels = [{ release: kernel, headers: false, driver: true }];
/** Canonical's driver, signed for the running kernel. */
const signed = {
  'linux-image-generic': '6.8.0-45.45',
  [`linux-image-${kernel}`]: '6.8.0-45.45',
  'linux-modules-nvidia-580-server-open-generic': '6.8.0-45.45',
  [`linux-modules-nvidia-580-server-open-${kernel}`]: '6.8.0-45.45',
  'libnvidia-compute-580-server': '580.105.08-0ubuntu0.24.04.1',
  'nvidia-utils-580-server': '580.105.08-0ubuntu0.24.04.1',
};
const served = afterwards(factsOf({ os: ubuntu }), defaults);
const { toolkit } = served;
const stack = Object.entries(served.packages).filter(
  ([name]) => !/^(lib)?nvidia-(compute|utils|dkms)/.test(name),
);
const canonical = (driver: Partial<Facts['driver']>, next: Facts['kernels'] = []): Facts =>
  factsOf({
    ...served,
    kernel,
    kernels: [...kernels, ...next],
    packages: { ...Object.fromEntries(stack), ...signed },
    driver: { ...ready.driver, secureBoot: true, userspace: '580.105.08', ...driver },
  });

/** Secure Boot, in the form of host-stack-cases.ts. */
export const secureBootCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'Secure Boot, and no key yet',
    factsOf({ driver: { secureBoot: true } }),
    defaults,
    [`${refused}: no signing key exists yet`, ...afterDriver],
  ],
  [
    'Secure Boot, and a key that is enrolled',
    factsOf({ driver: { secureBoot: true, keys: [dkmsKey] } }),
    defaults,
    bareLines,
  ],
  [
    'Secure Boot, and a driver that was built on the host and runs',
    factsOf({ ...ready, driver: { ...ready.driver, secureBoot: true, loaded: '580.65.06' } }),
    defaults,
    ['reboot the host [machine]', 'write the CDI specification [new-containers]'],
  ],
  [
    "Canonical's signed modules, whose libraries were upgraded",
    canonical({ loaded: '580.95.05', open: true }),
    defaults,
    ['reboot the host [machine]', 'write the CDI specification [new-containers]'],
  ],
  [
    "Canonical's signed modules, not loaded yet",
    canonical({ loaded: undefined, open: undefined }),
    defaults,
    ['load the NVIDIA kernel module [nothing]', 'write the CDI specification [new-containers]'],
  ],
  [
    "Canonical's signed driver, up to date: it is not held, and nothing is built",
    {
      ...canonical({ loaded: '580.105.08', open: true }),
      toolkit: { ...toolkit, cdiDriver: '580.105.08' },
    },
    defaults,
    [],
  ],
  [
    "Canonical's signed modules, without one for the next kernel",
    canonical({ loaded: '580.95.05', open: true }, [
      { release: '6.8.0-50-generic', headers: false, driver: false },
    ]),
    defaults,
    [`${refused}: no signing key exists yet`, 'write the CDI specification [new-containers]'],
  ],
];
