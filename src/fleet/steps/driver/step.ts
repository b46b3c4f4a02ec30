import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import { type Platform, platformOf, unsupported } from '../../packages/distribution.ts';
import { upstream } from '../../packages/version.ts';
import { type Change, rebootChange, type Refusal, refusal, runChange } from '../change.ts';
import { fabricChange, fabricObstacle, fabricPackages, lacksFabric, missingFabric } from './fabric.ts';
import { isDesiredDriver, flavorFor, generationObstacle, versionFits } from './compatibility.ts';
import { installation, rebootReason } from './installation.ts';
import { buildPackages, nextModule } from './kernels.ts';
import {
  awaitsActivation,
  lacksGraphics,
  registered,
  runfileInstallation,
  runfileObstacle,
  unbuildable,
} from './runfile.ts';
import { blacklistNouveau, loadScript } from './module.ts';
import { isSigned, secureBootObstacle, signedFits } from './secure-boot.ts';
import { enabledServices, fabricSwitches, startedServices, wantedServices } from './services.ts';
import { lackingLibraries, librariesChange, missingLibraries, usesOf } from './uses.ts';
import { isVendorStack } from '../vendor-stack.ts';
import { addSource, holdPackages } from '../packages/repositories.ts';
import { siteCa } from '../site-ca.ts';
import type { Desired, Step } from '../step.ts';

/**
 * The NVIDIA driver, compute only, from NVIDIA's repository or the distribution's own, kept on its branch, or from NVIDIA's `.run` file.
 * A driver of the wanted branch that somebody else installed, and that runs, is left alone.
 */
export const driverStep: Step = {
  name: 'driver',
  *plan(facts, desired) {
    yield* siteCa(facts, desired);
    const { host } = desired;
    const impossible = machineObstacle(facts, host);
    if (impossible !== undefined) yield refusal('driver', impossible.what, impossible.next);
    if (impossible !== undefined || facts.gpus.length === 0) return;

    const platform = platformOf(facts);
    if (!host.driver.install) {
      const lacking = platform === undefined ? [] : lackingLibraries(facts, host, platform);
      const lack = facts.driver.loaded === undefined ? missing : missingLibraries(lacking, host);
      if (lack === missing || lacking.length > 0) yield refusal('driver', lack.what, lack.next);
      else if (platform !== undefined && lacksFabric(facts)) {
        const { what, next } = missingFabric(facts);
        yield refusal('driver', what, next);
      }
      return;
    }

    const packages = platform === undefined ? [] : wantedPackages(platform, facts, desired);
    if (isDesiredDriver(facts, host) && !lacksGraphics(facts, host)) {
      if (platform !== undefined) yield* completion(facts, desired, platform, packages);
      yield* startedServices(facts);
      return;
    }
    if (platform !== undefined && signedFits(facts, host, platform)) {
      yield* activation(facts, desired, platform, []);
      return;
    }
    const obstacle =
      platform === undefined
        ? unsupported(facts)
        : host.driver.method === 'runfile'
          ? runfileObstacle(facts, desired, platform)
          : installObstacle(facts, host, platform);
    if (platform === undefined || obstacle !== undefined) {
      if (obstacle !== undefined) yield refusal('driver', obstacle.what, obstacle.next);
      return;
    }
    if (host.driver.method === 'runfile') {
      if (awaitsActivation(facts, host)) yield* activation(facts, desired, platform, []);
      else yield* runfileInstallation(facts, desired, platform);
      return;
    }
    const inTheWay = platform.names.driver.obsolete(Object.keys(facts.packages), host.driver, packages);
    if (packagesFit(facts, desired, packages) && inTheWay.length === 0) {
      yield* activation(facts, desired, platform, packages);
      return;
    }
    if (host.driver.method !== 'distro')
      yield* addSource('driver', 'NVIDIA', 'nvidia', { platform, facts, desired });
    yield installation(facts, desired, platform, packages);
    const reboot = rebootReason(facts, host, platform);
    if (reboot !== undefined) yield rebootChange('driver', reboot);
  },
};

const missing = {
  what: 'driver: none, and no NVIDIA driver is loaded',
  next: 'install one by hand and load it (modprobe nvidia), or remove "driver: none" from the inventory',
};

function wantedPackages(platform: Platform, facts: Facts, { host }: Desired): readonly string[] {
  const { driver } = platform.names;
  return [
    ...driver.packages(host.driver, flavorFor(facts, host.driver), fabricSwitches(facts)),
    ...driver.extras(host.driver, usesOf(host)),
  ];
}

function hold(platform: Platform, facts: Facts, packages: readonly string[]): Iterable<Change> {
  return holdPackages('driver', 'NVIDIA driver packages', { platform, facts }, packages, {
    risk: 'may be upgraded under the loaded module at any time',
    siblings: platform.names.driver.family,
  });
}

/** All are installed at one version, which is the wanted one. */
function packagesFit(facts: Facts, { host }: Desired, packages: readonly string[]): boolean {
  const versions = new Set(packages.map((name) => upstream(facts.packages[name] ?? '')));
  const [version = ''] = versions;
  return versions.size === 1 && versionFits(version, host.driver);
}

/**
 * The packages are right, the kernel is not there yet: an interrupted run, or an upgrade behind our back. `packages`: those to
 * be held. Where they are not yet, the run that brought them did not get as far as their services.
 */
function* activation(
  facts: Facts,
  desired: Desired,
  platform: Platform,
  packages: readonly string[],
): Generator<Change> {
  const cut = packages.some((name) => !facts.held.includes(name));
  const units = wantedServices(facts, cut);
  const reboot = rebootReason(facts, desired.host, platform);
  if (cut || reboot !== undefined) yield* enabledServices(facts, units);
  if (packages.length > 0) yield* hold(platform, facts, packages);
  yield* buildPackages(facts, desired, platform);
  if (reboot !== undefined) {
    if (facts.driver.nouveau) yield blacklisting(platform);
    yield* nextModule(facts, platform);
    yield rebootChange('driver', `${reboot}, ${facts.driver.userspace ?? 'another driver'} is installed`);
    return;
  }
  yield runChange(
    'driver',
    'load',
    {
      title: 'load the NVIDIA kernel module',
      why: 'the driver is installed and not loaded',
      disturbs: 'nothing',
    },
    { script: loadScript(desired.root, units), timeoutS: 1200, writes: [managedFiles.persistence] },
  );
  yield* nextModule(facts, platform);
}

/** It runs: held, for kernels to come, and with what agents may use. */
function* completion(
  facts: Facts,
  desired: Desired,
  platform: Platform,
  packages: readonly string[],
): Generator<Change | Refusal> {
  const { host } = desired;
  const lacksManager = lacksFabric(facts);
  const fabric = lacksManager ? fabricPackages(facts, host, platform) : [];
  const extras = new Set([...platform.names.driver.extras(host.driver, usesOf(host)), ...fabric]);
  const ours = packagesFit(
    facts,
    desired,
    packages.filter((name) => !extras.has(name)),
  );
  const lacking = lackingLibraries(facts, host, platform);
  if (!isSigned(facts, platform)) {
    const fit = packages.filter((name) => !fabric.includes(name));
    yield* hold(platform, facts, fit);
  }
  if (ours || facts.driver.runfile) yield* forNextKernel(facts, desired, platform);
  if (lacking.length === 0 && !lacksManager) return;
  const vendor = ours && host.driver.method !== 'distro';
  if (vendor) yield* addSource('driver', 'NVIDIA', 'nvidia', { platform, facts, desired });
  if (lacksManager) {
    const { what, next } = missingFabric(facts, fabric.length === 0);
    yield ours && fabric.length > 0
      ? fabricChange(facts, desired, platform, { names: fabric, vendor })
      : refusal('driver', what, next);
  }
  if (lacking.length > 0) yield librariesChange(facts, desired, platform, { names: lacking, vendor });
}

/** A kernel that is upgraded to is to find a driver, too. */
function* forNextKernel(facts: Facts, desired: Desired, platform: Platform): Generator<Change | Refusal> {
  const none = unbuildable(facts, platform);
  // Of such a driver there is nothing to build with what comes, but its owner needs it.
  if (none === undefined && facts.driver.runfile && facts.driver.dkms === undefined) return;
  yield* buildPackages(facts, desired, platform);
  yield* registered(facts);
  if (none === undefined) yield* nextModule(facts, platform);
  else yield none;
}

/** The file alone does not tell whether what boots has read it: both are done again. */
function blacklisting({ names }: Platform): Change {
  return runChange(
    'driver',
    'blacklist',
    {
      title: 'block nouveau from the next boot on',
      why: 'nouveau is loaded where the NVIDIA driver is installed',
      disturbs: 'nothing',
    },
    {
      script: blacklistNouveau(names.driver.refreshInitramfs),
      timeoutS: 600,
      writes: [managedFiles.nouveauBlacklist],
    },
  );
}

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/** Why no driver can be had on this machine at all. */
function machineObstacle(facts: Facts, host: HostSpec): Obstacle | undefined {
  if (facts.platform === 'jetson' || facts.platform === 'wsl') {
    const name = facts.platform === 'jetson' ? 'a Jetson' : 'a Linux on Windows (WSL)';
    return { what: `this is ${name}, whose GPU stack is another one`, next: 'leave this host out' };
  }
  if (facts.gpus.length === 0) {
    const wanted = host.gpus ?? 0;
    if (wanted === 0) return undefined;
    return {
      what: `PCI shows no NVIDIA GPU, and the inventory says gpus: ${wanted}`,
      next: 'check that the cards are seated and powered (lspci -d 10de:), or correct the inventory',
    };
  }
  if (isVendorStack(facts) && host.driver.install) {
    return {
      what: 'this is DGX OS, whose driver comes with the system and its own package sources',
      next: 'set driver: none for this host in the inventory',
    };
  }
  if (facts.gpus.every(({ boundTo }) => boundTo === 'vfio-pci')) {
    return {
      what: 'every GPU is reserved for virtual machines (vfio-pci)',
      next: 'put the virtual machines into the inventory instead, or unbind the GPUs from vfio-pci',
    };
  }
  return fabricObstacle(facts);
}

/** Why the wanted driver cannot be installed over what is there. */
function installObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const { method } = host.driver;
  if (facts.driver.runfile) {
    return {
      what: 'a driver from a .run file is installed, and packages must not be mixed with it',
      next: 'sudo nvidia-uninstall --silent, reboot, and run again, or set driver: { method: runfile } for this host',
    };
  }
  const obstacle = method === 'distro' ? ownObstacle(facts, host, platform) : undefined;
  return obstacle ?? generationObstacle(facts, host.driver) ?? secureBootObstacle(facts, host, platform);
}

/** Why the distribution's own packages will not do, whichever they are. Which branches it has, its package manager knows. */
function ownObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const next = "set driver: { method: repo } for this host in the inventory, for NVIDIA's package source";
  const { pretty } = facts.os;
  if (platform.names.driver.own === undefined)
    return { what: `azp-fleet installs no driver from the package sources of ${pretty} itself`, next };
  if (fabricSwitches(facts) > 0 && fabricPackages(facts, host, platform).length === 0)
    return { what: `the driver of ${pretty} comes without the fabric manager that NVSwitches need`, next };
  return undefined;
}
