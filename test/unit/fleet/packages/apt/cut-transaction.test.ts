// A run is killed while dpkg unpacks a package; the next run plans and completes what that left. Real: apt's resolver, and what
// dpkg can configure. Stand-in: the unpacking.
import { describe, expect, it } from 'vitest';

import { dockerStep } from '../../../../../src/fleet/steps/docker/step.ts';
import { driverStep } from '../../../../../src/fleet/steps/driver/step.ts';
import type { ResolverCase } from '../../../../support/apt-world/case.ts';
import { play, type Played } from '../../../../support/apt-world/play.ts';
import type { SystemName } from '../../../../support/apt-world/systems.ts';
import { aptIsHere, AptWorld } from '../../../../support/apt-world/world.ts';
import { desiredOf } from '../../../../support/host.ts';

interface Interrupted extends Pick<ResolverCase, 'past' | 'facts' | 'desired'> {
  readonly on: SystemName;
  readonly what: string;
  /** The packages that dpkg unpacks when the run is killed. */
  readonly cuts: readonly string[];
}

const installed = (version: string, names: string): string =>
  names
    .split(' ')
    .map((name) => `${name}=${version}`)
    .join(' ');

const interrupted: readonly Interrupted[] = [
  {
    on: 'Debian 13',
    what: 'driver 580 is upgraded to 595, and Docker is installed',
    past: {
      installed: [
        'nvidia-driver-pinning-580',
        installed('580.105.08-1', 'nvidia-driver-cuda nvidia-kernel-open-dkms nvidia-persistenced'),
      ],
    },
    facts: { driver: { loaded: '580.105.08', open: true } },
    desired: { driver: { branch: '595' } },
    cuts: [
      'nvidia-driver-pinning-595',
      'libnvidia-ml1',
      'containerd.io',
      'docker-buildx-plugin',
      'libxtables12',
    ],
  },
  {
    on: 'Debian 13',
    what: 'driver and Docker are new',
    past: {},
    facts: {},
    desired: { driver: { branch: '595' } },
    // Packages without dependencies: apt takes what dpkg noted of them for the whole package.
    cuts: ['libnvidia-ml1', 'docker-compose-plugin'],
  },
  {
    on: 'Ubuntu 24.04',
    what: 'driver 580.159.04 is downgraded to 580.95.05',
    past: {
      installed: [
        `${installed(
          '580.159.04-1ubuntu1',
          'libnvidia-compute-580 nvidia-utils-580 nvidia-dkms-580-open nvidia-kernel-common-580 nvidia-kernel-source-580-open',
        )} nvidia-firmware-580-580.159.04=580.159.04-1ubuntu1`,
      ],
    },
    facts: { driver: { loaded: '580.159.04', open: true } },
    desired: { driver: { version: '580.95.05' } },
    cuts: ['libnvidia-compute-580'],
  },
];

/** Plays driver and Docker on a new host. `cut`: the package in whose unpacking a run before it is killed. */
async function played({ on, past, facts, desired }: Interrupted, cut?: string): Promise<Played> {
  const world = new AptWorld(on, past);
  const run = async (): Promise<Played> =>
    play(world, [driverStep, dockerStep], await world.facts(facts), desiredOf(desired));
  try {
    if (cut === undefined) return await run();
    world.host.file('/run/cut', `Inst ${cut}`);
    expect((await run()).failed).toBeDefined();
    const next = await run();
    const { code, stderr } = await world.run('apt-get -s check');
    expect(code, `${next.plan.join('\n')}\n${next.failed ?? ''}\n${stderr}`).toBe(0);
    return next;
  } finally {
    world.remove();
  }
}

describe.runIf(aptIsHere()).each(interrupted)('a run that is killed while on $on $what', (host) => {
  it('is completed by the next run, whichever package is unpacked at that moment', async () => {
    const { packages, held } = (await played(host)).facts;
    for (const cut of host.cuts) {
      const { facts, failed } = await played(host, cut);
      const { unfinished } = facts;
      expect({ cut, failed, packages: facts.packages, unfinished, held: facts.held }).toEqual({
        cut,
        failed: undefined,
        packages,
        unfinished: {},
        held,
      });
    }
  });
});
