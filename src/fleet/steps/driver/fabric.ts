import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import { upstream } from '../../packages/version.ts';
import { flavorFor } from './compatibility.ts';
import { fabricSwitches, fabricUnit, startScript } from './services.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import type { Desired } from '../step.ts';

/** Returns why GPUs behind NVSwitches cannot work with any driver, if they cannot. */
export function fabricObstacle(facts: Pick<Facts, 'nvswitches' | 'nvlink5' | 'packages' | 'driver'>) {
  return maskedObstacle(facts) ?? boardObstacle(facts);
}

/** Returns the obstacle of a masked fabric manager. The owner masked it; azp-fleet does not unmask it. */
function maskedObstacle(facts: Pick<Facts, 'nvswitches' | 'nvlink5' | 'driver'>) {
  if (fabricSwitches(facts) === 0) return undefined;
  const masked = facts.driver.services.find(
    ({ unit, file }) => unit === fabricUnit && file.startsWith('masked'),
  );
  if (masked === undefined) return undefined;
  const runtime = masked.file === 'masked-runtime' ? '--runtime ' : '';
  return {
    what: `the GPUs are connected by NVSwitches and ${fabricUnit} is masked: CUDA fails with error 802`,
    next: `sudo systemctl unmask ${runtime}${fabricUnit}, and run again`,
  };
}

/**
 * Returns what an NVLink 5 board lacks. Its fabric manager starts NVIDIA's subnet manager and talks to the switches through
 * ib_umad; without it every CUDA program fails with error 802. The owner chooses the kernel's InfiniBand stack or NVIDIA's.
 */
function boardObstacle({ nvlink5, packages }: Pick<Facts, 'nvlink5' | 'packages'>) {
  const [unread] = nvlink5.unread ?? [];
  if (nvlink5.switches === 0 && unread !== undefined) {
    return {
      what: `unknown whether this is an NVLink 5 board (HGX B200 or B300), which needs a fabric manager: reading the product data of ${nvlink5.unread?.join(', ') ?? ''} failed`,
      next: `sudo grep -ac SW_MNG /sys/bus/pci/devices/${unread}/vpd (prints 1 on such a board); run again once it answers within 10 s; a cold start or newer firmware of that card may help`,
    };
  }
  if (nvlink5.switches === 0) return undefined;
  const missing = [
    ...(packages['nvlsm'] === undefined ? ['the package nvlsm'] : []),
    ...(nvlink5.umad ? [] : ['the kernel module ib_umad']),
  ];
  if (missing.length === 0) return undefined;
  return {
    what: `this NVLink 5 board (HGX B200 or B300) lacks ${missing.join(' and ')}: CUDA fails with error 802`,
    next: "install nvlsm from NVIDIA's package repository, load ib_umad now and at boot (/etc/modules-load.d), and run again",
  };
}

/** Fabric manager packages of any branch; Red Hat's name had another dash before 580. */
const fabricPackage = /^nvidia-fabric-?manager(-\d+)?$/;

/** Returns the installed fabric managers with their releases. */
function installed({ packages }: Facts): readonly { readonly name: string; readonly release: string }[] {
  return Object.entries(packages)
    .filter(([name]) => fabricPackage.test(name))
    .map(([name, version]) => ({ name, release: upstream(version) }));
}

/** Returns the desired driver's fabric manager packages; none: its repository has no fabric manager. */
export function fabricPackages(facts: Facts, { driver }: HostSpec, { names }: Platform): readonly string[] {
  const packages = (switches: number) => names.driver.packages(driver, flavorFor(facts, driver), switches);
  const without = new Set(packages(0));
  return packages(1).filter((name) => !without.has(name));
}

/**
 * Returns whether GPUs are connected by NVSwitches and no fabric manager of the running driver's release is installed. One of
 * another release does not work.
 */
export function lacksFabric(facts: Facts): boolean {
  if (fabricSwitches(facts) === 0) return false;
  const managers = installed(facts);
  const { loaded, services } = facts.driver;
  return managers.length === 0
    ? !services.some(({ unit }) => unit === fabricUnit)
    : !managers.some(({ release }) => release === loaded);
}

/**
 * Installs and starts the fabric manager at the driver's version, where it is missing or was upgraded alone. `vendor`: the
 * driver is from NVIDIA's repository.
 */
export function fabricChange(
  facts: Facts,
  { proxy }: Desired,
  platform: Platform,
  { names, vendor }: { readonly names: readonly string[]; readonly vendor: boolean },
): PackageChange {
  const { loaded = '' } = facts.driver;
  const managers = installed(facts);
  const others = managers.map(({ name }) => name).filter((name) => !names.includes(name));
  return packageChange({
    step: 'driver',
    name: 'fabric',
    platform,
    subject: { what: 'NVIDIA fabric manager', from: managers[0]?.release, to: loaded },
    recorded: partRecord('driver', facts, platform),
    why: missingFabric(facts).what,
    // It configures the switches again, which ends what uses the GPUs.
    disturbs: 'gpus',
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
 * Describes a missing fabric manager. It must have the driver's version, so the driver's owner installs it. `unavailable`: the
 * desired packages have none.
 */
export function missingFabric(facts: Facts, unavailable = false) {
  const { loaded = '' } = facts.driver;
  const [other] = installed(facts);
  const state =
    other === undefined
      ? `the fabric manager of driver ${loaded} is missing`
      : `${other.name} ${other.release} does not match driver ${loaded}`;
  return {
    what: `the GPUs are connected by NVSwitches and ${state}: CUDA fails with error 802`,
    next: unavailable
      ? "set driver: { method: repo } for this host in the inventory: NVIDIA's package repository has it"
      : "install the fabric manager at the driver's version, from the driver's repository, and run again",
  };
}
