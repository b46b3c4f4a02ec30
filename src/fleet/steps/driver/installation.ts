import type { HostSpec } from '../../inventory/fleet.ts';
import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { PackageSource } from '../../packages/package-manager.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Disturbs } from '../change.ts';
import { disturbsNode, reloadDisturbs } from '../disturbance.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import type { Desired } from '../step.ts';
import { flavorFits, flavorFor, leastBranch } from './compatibility.ts';
import { awaitsBoot, buildModule, buildOf } from './kernels.ts';
import { hasDesktop } from '../packages/parts.ts';
import { blacklistNouveau, loadModule, lostScreens, replaceModule } from './module.ts';
import { enableServices, desiredServices } from './services.ts';
import { usesOf } from './uses.ts';

/** Installs the desired packages and removes those that conflict; loads the module where nothing uses the GPUs. */
export function installation(
  facts: Facts,
  desired: Desired,
  platform: Platform,
  packages: readonly string[],
): PackageChange {
  const { host } = desired;
  const { driver } = host;
  const { driver: names, desktop } = platform.names;
  const isDistribution = driver.method === 'distro';
  const { nouveau } = facts.driver;
  const version = driver.version ?? driver.branch;
  const remove = names.obsolete(Object.keys(facts.packages), driver, packages);
  const reboots = rebootReason(facts, host, platform) !== undefined;
  return packageChange({
    step: 'driver',
    name: 'install',
    platform,
    recorded: partRecord('driver', facts, platform),
    subject: subjectOf(facts, host),
    why: reasonOf(facts, desired, platform, remove),
    disturbs: installationDisturbs(facts, reboots),
    request: {
      what: `driver ${version}`,
      key: driver.version === undefined ? 'driver.branch' : 'driver.version',
      ...(isDistribution ? { otherwise: "set driver.method to repo, for NVIDIA's own" } : {}),
    },
    timeoutS: 3600,
    rebuildsInitramfs: true,
    writes: [
      ...platform.packages.folders,
      managedFiles.persistence,
      ...(nouveau ? [managedFiles.nouveauBlacklist] : []),
    ],
    keeps: [...desktop.own, ...(hasDesktop(facts, platform) ? desktop.driver : [])],
    transaction: {
      ...(isDistribution ? { without: 'nvidia' } : { vendor: 'nvidia' }),
      packages: packages.map((name) => ({
        name,
        version: driver.version === undefined ? { branch: driver.branch } : { release: driver.version },
      })),
      sameVersion: true,
      siblings: names.family,
      optional: names.optional(driver),
      beside: (names.beside?.(driver) ?? []).map((name) => ({ name, branch: driver.branch })),
      variants: names.variants(driver),
      formerly: names.formerly,
      leastBranch: leastBranch(facts),
      remove,
      mayRemove: names.replaced,
      proxy: desired.proxy,
      ...scriptsOf(facts, desired, platform, reboots),
    },
  });
}

/** Returns what the driver's installation disturbs. The module of a removed driver is unloaded where nothing used it. */
export function installationDisturbs(facts: Facts, reboots: boolean): Disturbs {
  const { loaded, wasRemoved, inUse } = facts.driver;
  if (loaded !== undefined && reboots) return 'machine';
  return wasRemoved && !inUse ? 'gpus' : disturbsNode(facts, reloadDisturbs(facts));
}

function subjectOf(facts: Facts, host: HostSpec): PackageChange['pending']['subject'] {
  const { driver } = host;
  const { loaded, userspace, wasRemoved } = facts.driver;
  const from = wasRemoved ? undefined : (loaded ?? userspace);
  const uses = usesOf(host);
  const notes = [
    ...(driver.method === 'distro' ? ["the distribution's own"] : []),
    `${flavorFor(facts, driver)} kernel modules`,
    ...(uses.length > 0 ? [`with ${uses.join(' and ')}`] : from === undefined ? ['compute only'] : []),
  ];
  return {
    what: 'NVIDIA driver',
    from,
    to: driver.version ?? driver.branch,
    note: ` (${notes.join(', ')})`,
  };
}

function reasonOf(
  facts: Facts,
  { host, mirrors, proxy }: Desired,
  platform: Platform,
  remove: readonly string[],
): string {
  const { next } = buildOf(facts, platform);
  const disables =
    host.driver.method === 'distro' &&
    hasVendorSource(facts, platform.packages.source('nvidia', platform, { mirrors, proxy }));
  return [
    whyInstall(facts),
    ...(remove.length === 0 ? [] : [`${remove.join(', ')} will be removed`]),
    ...(disables ? ["NVIDIA's repository is disabled"] : []),
    ...(next === undefined ? [] : [`also built for Linux ${next.release}, which boots next`]),
    ...leftGpus(facts),
    ...lostScreens(facts),
  ].join('; ');
}

/** Returns the GPUs that the driver leaves to virtual machines, as the end of a reason. */
export function leftGpus({ passedThrough }: Facts): readonly string[] {
  const addresses = passedThrough.map(({ address }) => address);
  return addresses.length === 0 ? [] : [`${addresses.join(', ')} left to virtual machines (vfio-pci)`];
}

/** Returns the shell text before and after the packages are installed. */
function scriptsOf(
  facts: Facts,
  { host, mirrors, root }: Desired,
  platform: Platform,
  reboots: boolean,
): Pick<PackageChange['pending']['transaction'], 'before' | 'after'> {
  const { driver: names } = platform.names;
  const { script, next } = buildOf(facts, platform);
  const { nouveau, wasRemoved, inUse } = facts.driver;
  const units = desiredServices(facts, false);
  const after = [
    ...(reboots ? [enableServices(units)] : []),
    ...(nouveau ? [blacklistNouveau(names.refreshInitramfs)] : []),
    ...(!reboots && wasRemoved && !inUse ? [replaceModule(root)] : []),
    ...(reboots ? [] : [loadModule(root, units)]),
    ...(next === undefined ? [] : [buildModule(next.release)]),
  ];
  return {
    before: [script, names.prepare(host.driver, { mirrors })].filter(Boolean).join('\n'),
    after: after.filter(Boolean).join('\n'),
  };
}

export function whyInstall({ driver: { loaded, userspace, wasRemoved } }: Facts): string {
  if (wasRemoved) return `the driver was removed; its module ${loaded ?? ''} is still loaded`;
  const seen = loaded ?? userspace;
  return seen === undefined ? 'no driver is loaded' : `${seen} is installed`;
}

/** Returns whether NVIDIA's repository is configured, by azp-fleet or by NVIDIA's keyring package. */
function hasVendorSource({ files, packages }: Facts, { file }: PackageSource): boolean {
  return packages['cuda-keyring'] !== undefined || files[file] !== undefined;
}

/**
 * Returns why the driver works only after a reboot, if so. A module in use cannot be replaced: nouveau drives the console,
 * nvidia containers and daemons.
 */
export function rebootReason(
  facts: Facts,
  { driver }: Pick<HostSpec, 'driver'>,
  platform: Platform,
): string | undefined {
  const { loaded, wasRemoved, inUse } = facts.driver;
  const isDesired = loaded === driver.version && flavorFits(facts, driver);
  if (loaded !== undefined && !wasRemoved) return `the loaded module ${loaded} holds the GPUs`;
  if (loaded !== undefined && inUse && !isDesired)
    return `the module ${loaded} of the removed driver is in use`;
  if (facts.driver.nouveau) return 'the nouveau module holds the GPUs';
  return awaitsBoot(facts, platform) ? `Linux ${facts.kernels[1]?.release} waits for a reboot` : undefined;
}
