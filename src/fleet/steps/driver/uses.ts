import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { DriverUse } from '../../packages/names.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import type { Desired } from '../step.ts';

/** Returns what agents of the host may use the driver for beyond computing. `display` counts as graphics. */
export function usesOf({
  agents,
  driverCapabilities,
}: Pick<HostSpec, 'agents' | 'driverCapabilities'>): DriverUse[] {
  const capabilities = new Set<string>(
    agents.kind === 'slots' ? agents.slots.flatMap((slot) => slot.capabilities) : driverCapabilities,
  );
  return [
    ...(capabilities.has('graphics') || capabilities.has('display') ? (['graphics'] as const) : []),
    ...(capabilities.has('video') ? (['video'] as const) : []),
  ];
}

/** Returns library packages that the running driver lacks for these uses. None for a `.run` file, which contains them. */
export function lackingLibraries(facts: Facts, host: HostSpec, platform: Platform): readonly string[] {
  return facts.driver.runfile ? [] : platform.names.driver.lacks(facts.packages, usesOf(host));
}

/**
 * Installs libraries at the running driver's version: containers get EGL, Vulkan and NVENC from the host. `vendor`: the driver
 * is from NVIDIA's repository.
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
    why: `agents may use ${usesOf(host).join(' and ')}; the installed driver lacks the libraries`,
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

/** Describes missing libraries of a driver that its owner installs (`driver: none`). */
export function missingLibraries(names: readonly string[], host: HostSpec) {
  const uses = usesOf(host).join(' and ');
  return {
    what: `agents may use ${uses}, and the installed driver (driver: none) lacks ${names.join(', ')}`,
    next: `install them by hand at the driver's version, or remove ${uses} from driverCapabilities`,
  };
}
