import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { siteCaFile } from '../../../../src/fleet/packages/apt/source.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const withNouveau = merge(ready, {
  driver: {
    loaded: undefined,
    open: undefined,
    nouveau: true,
    services: [persistenced('disabled', 'inactive')],
  },
});

/** Hosts after a run that was killed between two effects of one change, in the form of host-stack-cases.ts. */
export const interruptedCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'an interrupted run left the certificate authority untrusted',
    factsOf({ ...ready, files: { ...ready.files, [siteCaFile]: sha256('PEM') } }),
    desiredOf({}, { proxy: { noProxy: [], caPem: 'PEM' } }),
    ["trust the site's certificate authority [nothing]", 'restart Docker Engine [new-containers]'],
  ],
  [
    'an interrupted run left the driver’s services enabled and not started',
    factsOf({ ...ready, driver: { ...ready.driver, services: [persistenced('enabled', 'inactive')] } }),
    defaults,
    ['start nvidia-persistenced.service [nothing]'],
  ],
  [
    'services that their owner disabled, or that failed, are left alone',
    factsOf({
      ...ready,
      driver: {
        ...ready.driver,
        services: [persistenced('disabled', 'inactive'), fabricManager('enabled', 'failed')],
      },
    }),
    defaults,
    [],
  ],
  [
    "Ubuntu's daemon without persistence mode",
    factsOf({
      ...ready,
      driver: {
        ...ready.driver,
        services: [{ ...persistenced('static', 'active'), forgets: true as const }],
      },
    }),
    defaults,
    ['configure nvidia-persistenced.service to keep GPUs initialised [nothing]'],
  ],
  [
    "Ubuntu's daemon, masked by the owner",
    factsOf({
      ...ready,
      driver: {
        ...ready.driver,
        services: [{ ...persistenced('masked', 'inactive'), forgets: true as const }],
      },
    }),
    defaults,
    [],
  ],
  [
    'GPUs behind NVSwitches do not work without the fabric manager',
    factsOf({
      ...ready,
      nvswitches: 4,
      driver: { ...ready.driver, services: [fabricManager('disabled', 'inactive')] },
    }),
    defaults,
    ['start nvidia-fabricmanager.service [gpus]'],
  ],
  [
    'an interrupted run installed the driver and did not block nouveau',
    { ...withNouveau, held: ready.held.filter((name) => !name.includes('nvidia')) },
    defaults,
    [
      'enable nvidia-persistenced.service [nothing]',
      'hold the NVIDIA driver packages [nothing]',
      'block nouveau from the next boot on [nothing]',
      'reboot the host [machine]',
      'hold the NVIDIA Container Toolkit packages [nothing]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'the same after a complete run: the owner disabled the daemon',
    withNouveau,
    defaults,
    [
      'block nouveau from the next boot on [nothing]',
      'reboot the host [machine]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'an interrupted run installed a toolkit and wrote no specification',
    factsOf({ ...ready, toolkit: { ...ready.toolkit, cdiOlder: true } }),
    defaults,
    ['write the CDI specification [new-containers]'],
  ],
];

function persistenced(file: string, active: string) {
  return { unit: 'nvidia-persistenced.service', file, active };
}

function fabricManager(file: string, active: string) {
  return { unit: 'nvidia-fabricmanager.service', file, active };
}
