import type { ResolverCase } from './case.ts';

/** GPUs behind NVSwitches. `suffixed`: what NVIDIA's driver of a version of branch 580 is there. */
export const switchesOnUbuntu = (suffixed: (version: string) => string): readonly ResolverCase[] => [
  {
    history: 'fresh',
    what: 'NVSwitches, and 580.95.05 is configured, whose fabric manager is of another revision',
    facts: { nvswitches: 4 },
    desired: { driver: { version: '580.95.05' } },
  },
  {
    history: 'current',
    what: 'NVSwitches, and a fabric manager that was upgraded without the driver',
    past: {
      installed: [
        `${suffixed('580.95.05-0ubuntu1')} nvidia-compute-utils-580=580.95.05-0ubuntu1`,
        'nvidia-fabricmanager=580.159.04-1',
      ],
      held: ['libnvidia-compute-580', 'nvidia-utils-580', 'nvidia-dkms-580-open'],
    },
    facts: {
      nvswitches: 4,
      driver: {
        loaded: '580.95.05',
        open: true,
        services: [{ unit: 'nvidia-fabricmanager.service', file: 'enabled', active: 'failed' }],
      },
    },
  },
];
