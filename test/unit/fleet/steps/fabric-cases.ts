import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import type { Desired } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, driven, factsOf, merge } from '../../../support/host.ts';
import { bareOf } from './enterprise-cases.ts';
import { afterwards } from './host-stack-plan.ts';
import { afterDriver, bareLines, driverWithNouveau } from './host-stack-lines.ts';

const defaults = desiredOf();
const b200 = { address: '0000:1b:00.0', deviceId: '2901', boundTo: undefined };
const board = (umad: boolean, packages: Facts['packages']) =>
  factsOf({ gpus: [b200], nvlink5: { switches: 4, umad }, packages });
const missing = (what: string) =>
  `refused: this NVLink 5 board (HGX B200 or B300) lacks ${what}: CUDA fails with error 802`;

/** An up-to-date host behind NVSwitches with another fabric manager, which has failed and is not held. */
function withFabric(bare: Facts, packages: Facts['packages']): Facts {
  return merge(
    { ...afterwards(bare, defaults), nvswitches: 4 },
    {
      packages,
      driver: { services: [{ unit: 'nvidia-fabricmanager.service', file: 'enabled', active: 'failed' }] },
    },
  );
}

/** GPUs behind switches, in the form of host-stack-cases.ts. */
export const fabricCases: readonly [string, Facts, Desired, readonly string[]][] = [
  [
    'an NVLink 5 board without software for its switches',
    board(false, {}),
    defaults,
    [missing('the package nvlsm and the kernel module ib_umad'), ...afterDriver],
  ],
  [
    'an NVLink 5 board without ib_umad, whose driver is left alone',
    factsOf({ ...board(false, { nvlsm: '2025.03.1-1' }), driver: { loaded: '580.95.05' } }),
    desiredOf({ driver: { install: false } }),
    [missing('the kernel module ib_umad'), ...afterDriver],
  ],
  ...[defaults, desiredOf({ driver: { install: false } })].map(
    (desired): [string, Facts, Desired, readonly string[]] => [
      `a GPU of such a board with an unreadable card${desired === defaults ? '' : ', driver: none'}`,
      factsOf({
        gpus: [b200],
        nvlink5: { switches: 0, umad: true, unread: ['0000:90:00.0', '0000:91:00.0'] },
        driver: desired === defaults ? {} : { loaded: '580.95.05' },
      }),
      desired,
      [
        'refused: unknown whether this is an NVLink 5 board (HGX B200 or B300), which needs a fabric manager: reading the product data of 0000:90:00.0, 0000:91:00.0 failed',
        ...afterDriver,
      ],
    ],
  ),
  [
    'an unreadable card with readable switches',
    factsOf({
      gpus: [b200],
      nvlink5: { switches: 4, umad: true, unread: ['0000:90:00.0'] },
      packages: { nvlsm: '2025.03.1-1' },
    }),
    defaults,
    bareLines,
  ],
  ['an NVLink 5 board with both', board(true, { nvlsm: '2025.03.1-1' }), defaults, bareLines],
  [
    'nouveau drives GPUs behind NVSwitches: the fabric manager is enabled before the reboot',
    factsOf({ nvswitches: 4, driver: { nouveau: true } }),
    defaults,
    [...driverWithNouveau, ...afterDriver],
  ],
  [
    'the desired driver runs without the fabric manager of its switches',
    { ...afterwards(factsOf(), defaults), nvswitches: 4 },
    defaults,
    ['install NVIDIA fabric manager 580.95.05 [gpus]'],
  ],
  [
    'the same on an NVLink 5 board with the other packages',
    merge(afterwards(factsOf(), defaults), {
      nvlink5: { switches: 4, umad: true },
      packages: { nvlsm: '2025.03.1-1' },
    }),
    defaults,
    ['install NVIDIA fabric manager 580.95.05 [gpus]'],
  ],
  [
    'a fabric manager of another package runs behind NVSwitches',
    merge(
      { ...afterwards(factsOf(), defaults), nvswitches: 4 },
      { driver: { services: [{ unit: 'nvidia-fabricmanager.service', file: 'enabled', active: 'active' }] } },
    ),
    defaults,
    [],
  ],
  ...[defaults, desiredOf({ driver: { install: false } })].flatMap((desired) =>
    ['masked', 'masked-runtime'].map((file): [string, Facts, Desired, readonly string[]] => [
      `the fabric manager of the switches is ${file}${desired === defaults ? '' : ', driver: none'}`,
      merge(
        { ...afterwards(factsOf(), defaults), nvswitches: 4 },
        { driver: { services: [{ unit: 'nvidia-fabricmanager.service', file, active: 'inactive' }] } },
      ),
      desired,
      [
        'refused: the GPUs are connected by NVSwitches and nvidia-fabricmanager.service is masked: CUDA fails with error 802',
      ],
    ]),
  ),
  [
    'a masked fabric manager without NVSwitches',
    merge(afterwards(factsOf(), defaults), {
      driver: {
        services: [{ unit: 'nvidia-fabricmanager.service', file: 'masked', active: 'inactive' }],
      },
    }),
    defaults,
    [],
  ],
  ...[factsOf(), bareOf('rocky', '9'), bareOf('almalinux', '10')].flatMap((bare) =>
    [
      ['580.65.06', 'upgrade NVIDIA fabric manager 580.65.06 → 580.95.05 [gpus]'],
      ['580.159.04', 'downgrade NVIDIA fabric manager 580.159.04 → 580.95.05 [gpus]'],
    ].map(([release = '', line = '']): [string, Facts, Desired, readonly string[]] => [
      `${bare.os.id} ${bare.os.versionId}: the driver is held, and only its fabric manager is at ${release}`,
      withFabric(bare, { 'nvidia-fabricmanager': `${release}-1` }),
      defaults,
      [line],
    ]),
  ),
  [
    'the fabric manager of an older branch, with the branch in its name',
    withFabric(factsOf(), { 'nvidia-fabricmanager-570': '570.158.01-1' }),
    defaults,
    ['upgrade NVIDIA fabric manager 570.158.01 → 580.95.05 [gpus]'],
  ],
  [
    "the distribution's fabric manager at the driver's release",
    withFabric(factsOf(), { 'nvidia-fabricmanager-580': '580.95.05-0ubuntu1' }),
    defaults,
    [],
  ],
  [
    'driver: none, and a fabric manager of another release',
    withFabric(factsOf(), { 'nvidia-fabricmanager': '580.159.04-1' }),
    desiredOf({ driver: { install: false } }),
    [
      'refused: the GPUs are connected by NVSwitches and nvidia-fabricmanager 580.159.04 does not match driver 580.95.05: CUDA fails with error 802',
    ],
  ],
  [
    "another user's driver, and a fabric manager of another release",
    merge(withFabric(factsOf(), { 'nvidia-fabricmanager': '580.159.04-1' }), {
      packages: { 'nvidia-driver-cuda': '570.86.10-1' },
    }),
    defaults,
    [
      'refused: the GPUs are connected by NVSwitches and nvidia-fabricmanager 580.159.04 does not match driver 580.95.05: CUDA fails with error 802',
    ],
  ],
  ...(
    [
      ["another user's driver without its fabric manager", defaults],
      ['driver: none, without its fabric manager', desiredOf({ driver: { install: false } })],
    ] as const
  ).map(([name, desired]): [string, Facts, Desired, readonly string[]] => [
    name,
    factsOf({ nvswitches: 4, driver: { ...driven, runfile: true } }),
    desired,
    [
      'refused: the GPUs are connected by NVSwitches and the fabric manager of driver 580.95.05 is missing: CUDA fails with error 802',
      ...afterDriver,
    ],
  ]),
];
