import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import { upstream } from '../../packages/version.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { flavorFor } from './compatibility.ts';
import { fabricSwitches, fabricUnit, startScript } from './services.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import type { Desired } from '../step.ts';

/** Why the GPUs behind switches cannot work, whatever driver comes. */
export function fabricObstacle(facts: Pick<Facts, 'nvswitches' | 'nvlink5' | 'packages' | 'driver'>) {
  return maskedObstacle(facts) ?? boardObstacle(facts);
}

/** Its owner has put it away, and nothing but their word brings it back. */
function maskedObstacle(facts: Pick<Facts, 'nvswitches' | 'nvlink5' | 'driver'>) {
  if (fabricSwitches(facts) === 0) return undefined;
  const masked = facts.driver.services.find(
    ({ unit, file }) => unit === fabricUnit && file.startsWith('masked'),
  );
  if (masked === undefined) return undefined;
  const runtime = masked.file === 'masked-runtime' ? '--runtime ' : '';
  return {
    what: `the GPUs are joined by switches, ${fabricUnit} is masked, and without it CUDA ends with error 802`,
    next: `sudo systemctl unmask ${runtime}${fabricUnit}, and run again`,
  };
}

/**
 * The fabric manager of an NVLink 5 board starts NVIDIA's subnet manager and speaks to the switches through ib_umad. The
 * kernel's InfiniBand stack, or NVIDIA's own, is its owner's choice; without it every CUDA program ends with error 802.
 */
function boardObstacle({ nvlink5, packages }: Pick<Facts, 'nvlink5' | 'packages'>) {
  const [silent] = nvlink5.unread ?? [];
  if (nvlink5.switches === 0 && silent !== undefined) {
    return {
      what: `whether this is an NVLink 5 board (HGX B200 or B300), whose GPUs need a fabric manager, cannot be told: the product data of ${nvlink5.unread?.join(', ') ?? ''} cannot be read`,
      next: `see what sudo grep -ac SW_MNG /sys/bus/pci/devices/${silent}/vpd says (1: it is one), and run again once it answers within 10 seconds; a cold start or newer firmware of that card may help`,
    };
  }
  if (nvlink5.switches === 0) return undefined;
  const missing = [
    ...(packages['nvlsm'] === undefined ? ['the package nvlsm'] : []),
    ...(nvlink5.umad ? [] : ['the kernel module ib_umad']),
  ];
  if (missing.length === 0) return undefined;
  return {
    what: `this is an NVLink 5 board (HGX B200 or B300), and without ${missing.join(' and ')} CUDA ends with error 802`,
    next: "install nvlsm from NVIDIA's package source, load ib_umad now and at boot (/etc/modules-load.d), and run again",
  };
}

/** In any branch; Red Hat's had a dash more before 580. */
const fabricPackage = /^nvidia-fabric-?manager(-\d+)?$/;

/** Fabric managers that are installed, by the releases that they are of. */
function installed({ packages }: Facts): readonly { readonly name: string; readonly release: string }[] {
  return Object.entries(packages)
    .filter(([name]) => fabricPackage.test(name))
    .map(([name, version]) => ({ name, release: upstream(version) }));
}

/** What the wanted driver's packages have for switches. None: whose packages they are has no fabric manager. */
export function fabricPackages(facts: Facts, { driver }: HostSpec, { names }: Platform): readonly string[] {
  const packages = (switches: number) => names.driver.packages(driver, flavorFor(facts, driver), switches);
  const without = new Set(packages(0));
  return packages(1).filter((name) => !without.has(name));
}

/**
 * GPUs are joined by switches, and the host has nothing for these: no fabric manager, from whichever package, or one of another
 * release than the driver that runs, with which it does not work.
 */
export function lacksFabric(facts: Facts): boolean {
  if (fabricSwitches(facts) === 0) return false;
  const there = installed(facts);
  const { loaded, services } = facts.driver;
  return there.length === 0
    ? !services.some(({ unit }) => unit === fabricUnit)
    : !there.some(({ release }) => release === loaded);
}

/**
 * A driver that came before its switches were looked at, or whose fabric manager was upgraded alone: that comes at the very
 * version of the driver, and is started. `vendor`: the driver is from NVIDIA's own source.
 */
export function fabricChange(
  facts: Facts,
  { proxy }: Desired,
  platform: Platform,
  { names, vendor }: { readonly names: readonly string[]; readonly vendor: boolean },
): PackageChange {
  const { loaded = '' } = facts.driver;
  const there = installed(facts);
  const others = there.map(({ name }) => name).filter((name) => !names.includes(name));
  return packageChange({
    step: 'driver',
    name: 'fabric',
    platform,
    subject: { what: 'NVIDIA fabric manager', from: there[0]?.release, to: loaded },
    recorded: partRecord('driver', facts, platform),
    why: missingFabric(facts).what,
    disturbs: reloadDisturbs(facts),
    timeoutS: 1800,
    transaction: {
      ...(vendor ? { vendor: 'nvidia' } : {}),
      packages: names.map((name) => ({ name, version: { release: loaded } })),
      sameVersion: true,
      remove: others,
      mayRemove: others,
      proxy,
      after: startScript([fabricUnit]),
    },
  });
}

/**
 * Where the driver is somebody else's, so is the fabric manager: both must have the same version. `nowhere`: the wanted packages
 * have none.
 */
export function missingFabric(facts: Facts, nowhere = false) {
  const { loaded = '' } = facts.driver;
  const [other] = installed(facts);
  const lack =
    other === undefined
      ? `without the fabric manager of driver ${loaded}`
      : `with ${other.name} ${other.release} beside driver ${loaded}`;
  return {
    what: `the GPUs are joined by switches, and ${lack} CUDA ends with error 802`,
    next: nowhere
      ? "set driver: { method: repo } for this host in the inventory, for NVIDIA's package source, which has it"
      : "install the fabric manager at the driver's version, from where the driver is from, and run again",
  };
}
