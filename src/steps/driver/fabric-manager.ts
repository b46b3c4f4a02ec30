import type { Facts } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { packageChange, type PackageChange } from '../packages/package-change.ts';
import type { Desired } from '../step.ts';
import { fabricSwitches } from './fabric.ts';
import { flavorFor } from './flavor.ts';
import { startScript } from './services.ts';

const unit = 'nvidia-fabricmanager.service';

/** What the wanted driver has for switches, and the host has not, from whichever package. */
export function lackingFabric(facts: Facts, { host }: Desired, { names }: Platform): readonly string[] {
  if (facts.driver.services.some((service) => service.unit === unit)) return [];
  const packages = (switches: number) =>
    names.driver.packages(host.driver, flavorFor(facts, host.driver), switches);
  const without = new Set(packages(0));
  return packages(fabricSwitches(facts)).filter(
    (name) => !without.has(name) && facts.packages[name] === undefined,
  );
}

/** A driver that came before its switches were looked at: their manager comes at its very version, and is started. */
export function fabricChange(
  facts: Facts,
  { proxy }: Desired,
  platform: Platform,
  names: readonly string[],
): PackageChange {
  const { loaded = '' } = facts.driver;
  return packageChange({
    step: 'driver',
    name: 'fabric',
    platform,
    subject: { what: 'NVIDIA fabric manager', from: undefined, to: loaded },
    why: missingFabric(facts).what,
    disturbs: reloadDisturbs(facts),
    timeoutS: 1800,
    transaction: {
      vendor: 'nvidia',
      packages: names.map((name) => ({ name, version: { release: loaded } })),
      sameVersion: true,
      remove: [],
      mayRemove: [],
      proxy,
      after: startScript([unit]),
    },
  });
}

/** Where the driver is somebody else's, so is the fabric manager: both must have the same version. */
export function missingFabric(facts: Facts) {
  return {
    what: `the GPUs are joined by switches, and without the fabric manager of driver ${facts.driver.loaded ?? ''} CUDA ends with error 802`,
    next: `install the fabric manager at the driver's version, from where the driver is from, and run again`,
  };
}
