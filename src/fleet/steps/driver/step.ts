import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import { type Platform, platformOf, unsupported } from '../../packages/distribution.ts';
import { upstream } from '../../packages/version.ts';
import { disturbsNode } from '../disturbance.ts';
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
import { blacklistNouveau, loadScript, lostScreens } from './module.ts';
import { isSigned, secureBootObstacle, signedFits } from './secure-boot.ts';
import { enabledServices, fabricSwitches, startedServices, desiredServices } from './services.ts';
import { lackingLibraries, librariesChange, missingLibraries, usesOf } from './uses.ts';
import { isVendorStack } from '../vendor-stack.ts';
import { addSource, holdPackages } from '../packages/repositories.ts';
import { siteCa } from '../site-ca.ts';
import type { Desired, Step } from '../step.ts';

/**
 * Installs the NVIDIA driver, compute only: from NVIDIA's repository or the distribution's, held on its branch, or from NVIDIA's
 * `.run` file. Leaves alone a running driver of the desired branch, however it was installed.
 */
export const driverStep: Step = {
  name: 'driver',
  *plan(facts, desired) {
    yield* siteCa(facts, desired);
    const { host } = desired;
    const unsupportedMachine = machineObstacle(facts, host);
    if (unsupportedMachine !== undefined)
      yield refusal('driver', unsupportedMachine.what, unsupportedMachine.next);
    if (unsupportedMachine !== undefined || facts.gpus.length === 0) return;

    const platform = platformOf(facts);
    if (!host.driver.install) {
      const lacking = platform === undefined ? [] : lackingLibraries(facts, host, platform);
      const problem = facts.driver.loaded === undefined ? missing : missingLibraries(lacking, host);
      if (problem === missing || lacking.length > 0) yield refusal('driver', problem.what, problem.next);
      else if (platform !== undefined && lacksFabric(facts)) {
        const { what, next } = missingFabric(facts);
        yield refusal('driver', what, next);
      }
      return;
    }

    const packages = platform === undefined ? [] : desiredPackages(platform, facts, desired);
    const { vgpu } = facts.driver;
    if (isDesiredDriver(facts, host) && !lacksGraphics(facts, host)) {
      if (platform !== undefined && vgpu === undefined) yield* completion(facts, desired, platform, packages);
      yield* startedServices(facts);
      return;
    }
    if (vgpu !== undefined) {
      const { what, next } = vgpuObstacle(vgpu);
      yield refusal('driver', what, next);
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
    const obsolete = platform.names.driver.obsolete(Object.keys(facts.packages), host.driver, packages);
    if (packagesFit(facts, desired, packages) && obsolete.length === 0) {
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

function desiredPackages(platform: Platform, facts: Facts, { host }: Desired): readonly string[] {
  const { driver } = platform.names;
  return [
    ...driver.packages(host.driver, flavorFor(facts, host.driver), fabricSwitches(facts)),
    ...driver.extras(host.driver, usesOf(host)),
  ];
}

function hold(platform: Platform, facts: Facts, packages: readonly string[]): Iterable<Change> {
  return holdPackages('driver', 'NVIDIA driver packages', { platform, facts }, packages, {
    risk: 'may be upgraded while the present module is loaded',
    siblings: platform.names.driver.family,
  });
}

/** Returns whether all packages are installed at one version, which is the desired one. */
function packagesFit(facts: Facts, { host }: Desired, packages: readonly string[]): boolean {
  const versions = new Set(packages.map((name) => upstream(facts.packages[name] ?? '')));
  const [version = ''] = versions;
  return versions.size === 1 && versionFits(version, host.driver);
}

/**
 * Loads an installed driver, or reboots for it: after an interrupted run, or an upgrade outside azp-fleet. `packages`: those to
 * hold. Where one is not held yet, the run that installed them stopped before their services.
 */
function* activation(
  facts: Facts,
  desired: Desired,
  platform: Platform,
  packages: readonly string[],
): Generator<Change> {
  const interrupted = packages.some((name) => !facts.held.includes(name));
  const units = desiredServices(facts, interrupted);
  const reboot = rebootReason(facts, desired.host, platform);
  if (interrupted || reboot !== undefined) yield* enabledServices(facts, units);
  if (packages.length > 0) yield* hold(platform, facts, packages);
  yield* buildPackages(facts, desired, platform);
  if (reboot !== undefined) {
    if (facts.driver.nouveau) yield blockNouveau(facts, platform);
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
      disturbs: disturbsNode(facts, 'nothing'),
    },
    { script: loadScript(desired.root, units), timeoutS: 1200, writes: [managedFiles.persistence] },
  );
  yield* nextModule(facts, platform);
}

/** Completes a running driver: holds it, builds it for the next kernel, and adds libraries that agents may use. */
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
    const installed = packages.filter((name) => !fabric.includes(name));
    yield* hold(platform, facts, installed);
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

/** Prepares the driver for the next kernel. */
function* forNextKernel(facts: Facts, desired: Desired, platform: Platform): Generator<Change | Refusal> {
  const refused = unbuildable(facts, platform);
  // Without DKMS azp-fleet cannot build a .run driver; its owner still needs the build packages for the refused kernel.
  if (refused === undefined && facts.driver.runfile && facts.driver.dkms === undefined) return;
  yield* buildPackages(facts, desired, platform);
  yield* registered(facts);
  if (refused === undefined) yield* nextModule(facts, platform);
  else yield refused;
}

/** Writes the blacklist and the initramfs, even where the file exists: the next boot's initramfs may lack it. */
function blockNouveau(facts: Facts, { names }: Platform): Change {
  return runChange(
    'driver',
    'blacklist',
    {
      title: 'block nouveau from the next boot on',
      why: ['nouveau is loaded although the NVIDIA driver is installed', ...lostScreens(facts)].join('; '),
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

/** Returns why no driver can be installed on this machine, if none can. */
function machineObstacle(facts: Facts, host: HostSpec): Obstacle | undefined {
  if (facts.platform === 'jetson' || facts.platform === 'wsl') {
    const name = facts.platform === 'jetson' ? 'a Jetson' : 'Linux on Windows (WSL)';
    return {
      what: `this is ${name}, whose GPU stack is not supported`,
      next: 'remove this host from the inventory',
    };
  }
  if (facts.gpus.length === 0 && facts.passedThrough.length > 0) {
    return {
      what: 'every GPU is reserved for virtual machines (vfio-pci)',
      next: 'add the virtual machines to the inventory instead, or unbind the GPUs from vfio-pci',
    };
  }
  if (facts.gpus.length === 0) {
    const expected = host.gpus ?? 0;
    if (expected === 0) return undefined;
    return {
      what: `PCI shows no NVIDIA GPU, and the inventory says gpus: ${expected}`,
      next: 'check that the cards are seated and powered (lspci -d 10de:), or correct the inventory',
    };
  }
  if (isVendorStack(facts) && host.driver.install) {
    return {
      what: 'this is DGX OS, which includes its own driver and package repositories',
      next: 'set driver: none for this host in the inventory',
    };
  }
  return fabricObstacle(facts);
}

/** NVIDIA's vGPU software has the driver, which must fit that of the hypervisor, and a license. */
function vgpuObstacle(unit: string): Obstacle {
  return {
    what: `this machine uses NVIDIA vGPU (${unit}), whose driver azp-fleet does not replace`,
    next: "set driver: none for this host in the inventory; its driver comes from the hypervisor's vGPU software",
  };
}

/** Returns why the desired driver cannot be installed on this host, if it cannot. */
function installObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const { method } = host.driver;
  if (facts.driver.runfile) {
    return {
      what: 'a driver from a .run file is installed; packages must not be mixed with it',
      next: 'sudo nvidia-uninstall --silent, reboot, and run again, or set driver: { method: runfile } for this host',
    };
  }
  const obstacle = method === 'distro' ? ownObstacle(facts, host, platform) : undefined;
  return obstacle ?? generationObstacle(facts, host.driver) ?? secureBootObstacle(facts, host, platform);
}

/** Returns why the distribution's own packages cannot be used. The package manager knows which branches it has. */
function ownObstacle(facts: Facts, host: HostSpec, platform: Platform): Obstacle | undefined {
  const next = "set driver: { method: repo } for this host in the inventory, for NVIDIA's package repository";
  const { pretty } = facts.os;
  if (platform.names.driver.own === undefined)
    return { what: `azp-fleet installs no driver from ${pretty}'s own package repositories`, next };
  if (fabricSwitches(facts) > 0 && fabricPackages(facts, host, platform).length === 0)
    return { what: `the driver packages of ${pretty} lack the fabric manager that NVSwitches need`, next };
  return undefined;
}
