import type { HostSpec } from '../../inventory/fleet.ts';
import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { PackageSource } from '../../packages/package-manager.ts';
import type { Platform } from '../../packages/distribution.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import type { Desired } from '../step.ts';
import { flavorFits, flavorFor, leastBranch } from './compatibility.ts';
import { awaitsBoot, buildModule, buildOf } from './kernels.ts';
import { hasDesktop } from '../packages/parts.ts';
import { blacklistNouveau, loadModule, replaceModule } from './module.ts';
import { enableServices, wantedServices } from './services.ts';
import { usesOf } from './uses.ts';

/** Brings the wanted packages and takes away what is in their way; loads the module where nothing holds the GPUs. */
export function installation(
  facts: Facts,
  { host, mirrors, proxy, root }: Desired,
  platform: Platform,
  packages: readonly string[],
): PackageChange {
  const { driver } = host;
  const { driver: names, desktop } = platform.names;
  const own = driver.method === 'distro';
  const flavor = flavorFor(facts, driver);
  const uses = usesOf(host);
  const extent = uses.length === 0 ? 'compute only' : `with ${uses.join(' and ')}`;
  const { loaded, userspace, takenAway, inUse } = facts.driver;
  const seen = takenAway ? undefined : (loaded ?? userspace);
  const version = driver.version ?? driver.branch;
  const remove = names.obsolete(Object.keys(facts.packages), driver, packages);
  const { script, next } = buildOf(facts, platform);
  const reboots = rebootReason(facts, host, platform) !== undefined;
  const units = wantedServices(facts, false);
  return packageChange({
    step: 'driver',
    name: 'install',
    platform,
    recorded: partRecord('driver', facts, platform),
    subject: {
      what: 'NVIDIA driver',
      from: seen,
      to: version,
      note: ` (${[...(own ? ["the system's own"] : []), `${flavor} kernel modules`, ...(seen === undefined || uses.length > 0 ? [extent] : [])].join(', ')})`,
    },
    why:
      whyInstall(facts) +
      (remove.length === 0 ? '' : `; ${remove.join(', ')} will be removed`) +
      (own && hasVendorSource(facts, platform.packages.source('nvidia', platform, { mirrors, proxy }))
        ? "; NVIDIA's repository is disabled"
        : '') +
      (next === undefined ? '' : `; Linux ${next.release}, which boots next, gets it too`),
    disturbs: loaded === undefined || !reboots ? reloadDisturbs(facts) : 'machine',
    wish: {
      what: `driver ${version}`,
      key: driver.version === undefined ? 'driver.branch' : 'driver.version',
      ...(own ? { otherwise: "set driver.method to repo, for NVIDIA's own" } : {}),
    },
    timeoutS: 3600,
    rebuildsInitramfs: true,
    writes: [
      ...platform.packages.folders,
      managedFiles.persistence,
      ...(facts.driver.nouveau ? [managedFiles.nouveauBlacklist] : []),
    ],
    keeps: [...desktop.own, ...(hasDesktop(facts, platform) ? desktop.driver : [])],
    transaction: {
      ...(own ? { without: 'nvidia' } : { vendor: 'nvidia' }),
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
      proxy,
      before: [script, names.prepare(driver, { mirrors })].filter(Boolean).join('\n'),
      after: [
        ...(reboots ? [enableServices(units)] : []),
        ...(facts.driver.nouveau ? [blacklistNouveau(names.refreshInitramfs)] : []),
        ...(!reboots && takenAway && !inUse ? [replaceModule(root)] : []),
        ...(reboots ? [] : [loadModule(root, units)]),
        ...(next === undefined ? [] : [buildModule(next.release)]),
      ]
        .filter(Boolean)
        .join('\n'),
    },
  });
}

export function whyInstall({ driver: { loaded, userspace, takenAway } }: Facts): string {
  if (takenAway) return `the driver was removed; its module ${loaded ?? ''} is still loaded`;
  const seen = loaded ?? userspace;
  return seen === undefined ? 'no driver is loaded' : `${seen} is installed`;
}

/** As far as facts tell: ours, or the one that came with NVIDIA's keyring package. */
function hasVendorSource({ files, packages }: Facts, { file }: PackageSource): boolean {
  return packages['cuda-keyring'] !== undefined || files[file] !== undefined;
}

/**
 * Why the driver does not work before a reboot. A module that is in use cannot be replaced: nouveau drives the console,
 * nvidia the containers and daemons. Undefined: it does.
 */
export function rebootReason(
  facts: Facts,
  { driver }: Pick<HostSpec, 'driver'>,
  platform: Platform,
): string | undefined {
  const { loaded, takenAway, inUse } = facts.driver;
  const isTheSame = loaded === driver.version && flavorFits(facts, driver);
  if (loaded !== undefined && !takenAway) return `the loaded module ${loaded} holds the GPUs`;
  if (loaded !== undefined && inUse && !isTheSame)
    return `the module ${loaded} of the removed driver is in use`;
  if (facts.driver.nouveau) return 'the nouveau module holds the GPUs';
  return awaitsBoot(facts, platform) ? `Linux ${facts.kernels[1]?.release} waits for a reboot` : undefined;
}
