import { sha256 } from '../../../../src/shared/base/digest.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { siteCaFile } from '../../../../src/fleet/packages/apt/source.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';
import { afterwards } from './host-stack-plan.ts';

const defaults = desiredOf();
const ready = afterwards(factsOf(), defaults);
const besideNouveau = merge(ready, {
  driver: {
    loaded: undefined,
    open: undefined,
    nouveau: true,
    services: [persistenced('disabled', 'inactive')],
  },
});

/** What a run leaves that is killed between two effects of one change, in the form of host-stack-cases.ts. */
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
    "Ubuntu's daemon, which keeps no GPU initialised",
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
    "Ubuntu's daemon, where its owner wants none",
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
    ['start nvidia-fabricmanager.service [nothing]'],
  ],
  [
    'an interrupted run installed the driver beside nouveau, and did not keep that away',
    { ...besideNouveau, held: ready.held.filter((name) => !name.includes('nvidia')) },
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
    'the same after a whole run: its owner has disabled the daemon since',
    besideNouveau,
    defaults,
    [
      'block nouveau from the next boot on [nothing]',
      'reboot the host [machine]',
      'write the CDI specification [new-containers]',
    ],
  ],
  [
    'an interrupted run brought a toolkit and no specification by it',
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
