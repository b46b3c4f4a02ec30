import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { DriverUse } from '../../packages/names.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import type { Desired } from '../step.ts';

/** What some agent of the host may do with the driver beyond computing. What draws on a screen draws. */
export function usesOf({
  agents,
  driverCapabilities,
}: Pick<HostSpec, 'agents' | 'driverCapabilities'>): DriverUse[] {
  const wanted = new Set<string>(
    agents.kind === 'slots' ? agents.slots.flatMap(({ capabilities }) => capabilities) : driverCapabilities,
  );
  return [
    ...(wanted.has('graphics') || wanted.has('display') ? (['graphics'] as const) : []),
    ...(wanted.has('video') ? (['video'] as const) : []),
  ];
}

/** The libraries for it that the running driver's packages lack. A `.run` file brings all that it was not told to leave out. */
export function lackingLibraries(facts: Facts, host: HostSpec, platform: Platform): readonly string[] {
  return facts.driver.runfile ? [] : platform.names.driver.lacks(facts.packages, usesOf(host));
}

/**
 * No image can have EGL, Vulkan or NVENC where the host has not: they come at the version of the driver that runs. `vendor`:
 * it is from NVIDIA's own source.
 */
export function librariesChange(
  facts: Facts,
  { host, proxy }: Desired,
  platform: Platform,
  { names, vendor }: { readonly names: readonly string[]; readonly vendor: boolean },
): PackageChange {
  const { loaded = '' } = facts.driver;
  return packageChange({
    step: 'driver',
    name: 'uses',
    platform,
    recorded: partRecord('driver', facts, platform),
    subject: { what: names.join(', '), from: undefined, to: undefined },
    why: `agents may use ${usesOf(host).join(' and ')}, and the driver was installed without`,
    disturbs: reloadDisturbs(facts),
    timeoutS: 1800,
    transaction: {
      ...(vendor ? { vendor: 'nvidia' } : {}),
      packages: names.map((name) => ({ name, version: { release: loaded } })),
      sameVersion: true,
      remove: [],
      mayRemove: [],
      proxy,
    },
  });
}

/** Where the driver is its owner's, so are they. */
export function missingLibraries(names: readonly string[], host: HostSpec) {
  const uses = usesOf(host).join(' and ');
  return {
    what: `agents may use ${uses}, and the driver, which the inventory leaves alone, is there without ${names.join(', ')}`,
    next: `install them by hand at the driver's version, or take ${uses} out of driverCapabilities`,
  };
}
