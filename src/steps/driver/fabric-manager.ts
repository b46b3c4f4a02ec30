import type { Facts } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import { upstream } from '../../packages/version.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { packageChange, type PackageChange } from '../packages/package-change.ts';
import type { Desired } from '../step.ts';
import { fabricSwitches, fabricUnit } from './fabric.ts';
import { flavorFor } from './flavor.ts';
import { startScript } from './services.ts';

/** In any branch; Red Hat's had a dash more before 580. */
const fabricPackage = /^nvidia-fabric-?manager(-\d+)?$/;

/** Fabric managers that are installed, by the releases that they are of. */
function installed({ packages }: Facts): readonly { readonly name: string; readonly release: string }[] {
  return Object.entries(packages)
    .filter(([name]) => fabricPackage.test(name))
    .map(([name, version]) => ({ name, release: upstream(version) }));
}

/**
 * What the wanted driver has for switches, and the host has not: none, from whichever package, or one of another release than
 * the driver that runs, with which it does not work.
 */
export function lackingFabric(facts: Facts, { host }: Desired, { names }: Platform): readonly string[] {
  const there = installed(facts);
  const { loaded, services } = facts.driver;
  const works =
    there.length === 0
      ? services.some(({ unit }) => unit === fabricUnit)
      : there.some(({ release }) => release === loaded);
  if (works) return [];
  const packages = (switches: number) =>
    names.driver.packages(host.driver, flavorFor(facts, host.driver), switches);
  const without = new Set(packages(0));
  return packages(fabricSwitches(facts)).filter((name) => !without.has(name));
}

/**
 * A driver that came before its switches were looked at, or whose fabric manager was upgraded alone: that comes at the very
 * version of the driver, and is started.
 */
export function fabricChange(
  facts: Facts,
  { proxy }: Desired,
  platform: Platform,
  names: readonly string[],
): PackageChange {
  const { loaded = '' } = facts.driver;
  const there = installed(facts);
  const others = there.map(({ name }) => name).filter((name) => !names.includes(name));
  return packageChange({
    step: 'driver',
    name: 'fabric',
    platform,
    subject: { what: 'NVIDIA fabric manager', from: there[0]?.release, to: loaded },
    why: missingFabric(facts).what,
    disturbs: reloadDisturbs(facts),
    timeoutS: 1800,
    transaction: {
      vendor: 'nvidia',
      packages: names.map((name) => ({ name, version: { release: loaded } })),
      sameVersion: true,
      remove: others,
      mayRemove: others,
      proxy,
      after: startScript([fabricUnit]),
    },
  });
}

/** Where the driver is somebody else's, so is the fabric manager: both must have the same version. */
export function missingFabric(facts: Facts) {
  const { loaded = '' } = facts.driver;
  const [other] = installed(facts);
  const lack =
    other === undefined
      ? `without the fabric manager of driver ${loaded}`
      : `with ${other.name} ${other.release} beside driver ${loaded}`;
  return {
    what: `the GPUs are joined by switches, and ${lack} CUDA ends with error 802`,
    next: `install the fabric manager at the driver's version, from where the driver is from, and run again`,
  };
}
