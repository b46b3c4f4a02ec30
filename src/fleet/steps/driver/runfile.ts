import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { DriverUse, Flavor } from '../../packages/names.ts';
import { type Change, rebootChange, type Refusal, refusal, runChange } from '../change.ts';
import { flavorFits, flavorFor, generationObstacle, versionFits } from './compatibility.ts';
import { openBranches } from './generations.ts';
import { installationDisturbs, leftGpus, rebootReason, whyInstall } from './installation.ts';
import { awaitsBoot, buildModule, buildOf, buildPackages, origin, runfileBuild } from './kernels.ts';
import { blacklistNouveau, loadModule, lostScreens, replaceModule } from './module.ts';
import { driverPackages, hasDesktop } from '../packages/parts.ts';
import { type Release, releaseOf } from './runfile-releases.ts';
import { confirmLoaded, fetchScript, folder, installScript } from './runfile-scripts.ts';
import { secureBootObstacle } from './secure-boot.ts';
import { enableServices, fabricSwitches, desiredServices } from './services.ts';
import { usesOf } from './uses.ts';
import { titleOf } from '../packages/change.ts';
import { DiskSpace } from '../packages/disk-space.ts';
import type { Desired } from '../step.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';

/** Returns whether azp-fleet installed the `.run` file without graphics, and agents need graphics now. */
export function lacksGraphics({ driver, ours }: Facts, host: HostSpec): boolean {
  const { runfile } = ours;
  return (
    host.driver.method === 'runfile' &&
    driver.runfile &&
    runfile !== undefined &&
    runfile.version === driver.userspace &&
    !runfile.graphics &&
    usesOf(host).includes('graphics')
  );
}

/** Returns whether the desired `.run` driver is installed but not loaded: an interrupted run, or a pending reboot. */
export function awaitsActivation(facts: Facts, host: HostSpec): boolean {
  const { runfile, userspace, loaded } = facts.driver;
  return (
    runfile &&
    userspace !== undefined &&
    userspace !== loaded &&
    versionFits(userspace, host.driver) &&
    !lacksGraphics(facts, host)
  );
}

/** What it is built with, the file itself, its installer, and a reboot where something holds the GPUs. */
export function* runfileInstallation(
  facts: Facts,
  desired: Desired,
  platform: Platform,
): Generator<Change | Refusal> {
  const release = releaseOf(facts, desired.host.driver, desired.mirrors);
  const obstacle = 'what' in release ? release : diskObstacle(facts);
  if ('what' in release || obstacle !== undefined) {
    if (obstacle !== undefined) yield refusal('driver', obstacle.what, obstacle.next);
    return;
  }
  const scope = awaitsBoot(facts, platform) ? 'next' : 'all';
  const { mirrors } = desired;
  const build = runfileBuild(facts, platform, { uses: usesOf(desired.host), scope, mirrors });
  yield* buildPackages(facts, desired, platform, build);
  yield fetching(release, desired, platform);
  yield installing(release, facts, desired, platform);
  const reboot = rebootReason(facts, withVersion(release, desired.host), platform);
  if (reboot !== undefined && !isLoaded(release, facts, desired.host)) yield rebootChange('driver', reboot);
}

/** Returns the driver spec with the version of the release. */
function withVersion({ version }: Release, { driver }: HostSpec): Pick<HostSpec, 'driver'> {
  return { driver: { ...driver, version } };
}

/** Returns whether the release's module is already loaded. */
function isLoaded({ version }: Release, facts: Facts, { driver }: HostSpec): boolean {
  return facts.driver.loaded === version && flavorFits(facts, driver);
}

function fetching(release: Release, { proxy }: Desired, platform: Platform): Change {
  return runChange(
    'driver',
    'runfile-fetch',
    {
      title: `download ${release.file}`,
      why: `driver.method is runfile; runs only with sha256 ${release.sha256.slice(0, 12)}…`,
      disturbs: 'nothing',
      details: release.addresses.map((each, at) => ({
        marker: 'add',
        text: `${at === 0 ? 'from' : 'or'} ${each}`,
      })),
    },
    {
      script: fetchScript(release, platform.packages.downloader(proxy)),
      timeoutS: 3600,
      writes: [HostPaths.runfile],
    },
  );
}

function installing(release: Release, facts: Facts, { host, root }: Desired, platform: Platform): Change {
  const { version } = release;
  const { loaded, userspace, wasRemoved, nouveau, secureBoot } = facts.driver;
  const flavor = flavorFor(facts, host.driver);
  const uses = usesOf(host);
  const extent = uses.length === 0 ? 'compute only' : `with ${uses.join(' and ')}`;
  const seen = wasRemoved ? undefined : (loaded ?? userspace);
  const reboot = rebootReason(facts, withVersion(release, host), platform);
  const units = desiredServices(facts, false);
  const { next } = platform.names.driver.build(facts, 'next');
  const kernel = awaitsBoot(facts, platform) ? next?.release : undefined;
  const options = installerOptions({
    branch: host.driver.branch,
    flavor,
    uses,
    unloaded: reboot !== undefined || secureBoot === true,
    kernel,
  });
  const after = [
    ...(nouveau ? [blacklistNouveau(platform.names.driver.refreshInitramfs)] : []),
    ...(reboot === undefined
      ? [loadModule(root, units), confirmLoaded(version, root)]
      : [enableServices(units)]),
    ...(next === undefined || kernel !== undefined ? [] : [buildModule(next.release)]),
  ].join('\n');
  const note = ` (.run file, ${flavor} kernel modules, ${extent})`;
  return runChange(
    'driver',
    'runfile',
    {
      title: titleOf({ what: 'NVIDIA driver', from: seen, to: version, note }),
      why: [
        whyInstall(facts),
        ...(next === undefined ? [] : [`also built for Linux ${next.release}, which boots next`]),
        ...leftGpus(facts),
        ...lostScreens(facts),
      ].join('; '),
      disturbs:
        reboot !== undefined && isLoaded(release, facts, host)
          ? 'containers'
          : installationDisturbs(facts, reboot !== undefined),
      marker: seen === undefined ? 'add' : 'change',
      details: [{ marker: 'add', text: `installer options: ${options.join(' ')}` }],
    },
    {
      script: installScript(release, {
        options,
        kernel,
        signs: secureBoot === true,
        graphics: uses.includes('graphics'),
        before: loaded !== undefined && reboot === undefined ? replaceModule(root) : '',
        after,
      }),
      timeoutS: 3600,
      writes: [
        HostPaths.runfile,
        '/var/log/nvidia-installer.log',
        managedFiles.persistenced,
        managedFiles.persistence,
        ...(nouveau ? [managedFiles.nouveauBlacklist] : []),
      ],
    },
  );
}

interface Obstacle {
  readonly what: string;
  readonly next: string;
}

/**
 * Bytes that it needs: the file (398 MB of 580.173.02 on NVIDIA's server), its unpacked files during the installation, the
 * driver below /usr, and sources and modules of DKMS. The last three are unknown beforehand; estimated.
 */
const needs = { [folder]: 1_800_000_000, '/usr': 1_400_000_000, '/var/lib': 300_000_000 };

/** Returns why NVIDIA's `.run` file cannot be installed on this host. */
export function runfileObstacle(facts: Facts, desired: Desired, platform: Platform): Obstacle | undefined {
  const { host, included } = desired;
  if (included !== undefined) {
    return {
      what: 'a bundle contains packages, and no .run file of a driver',
      next: 'set driver: { method: repo } for this host in the inventory, or run without --bundle',
    };
  }
  return (
    packagesObstacle(facts, platform) ??
    generationObstacle(facts, host.driver) ??
    releaseObstacle(facts, desired, platform) ??
    secureBootObstacle(facts, host, platform)
  );
}

/** Refuses hosts whose packages own files that the installer would overwrite. */
function packagesObstacle(facts: Facts, platform: Platform): Obstacle | undefined {
  const packages = driverPackages(facts, platform);
  if (packages.length > 0) {
    return {
      what: `a driver is installed from packages (${shortened(packages)}); a .run file must not be mixed with them`,
      next: `${platform.packages.removal(packages)}, reboot, and run again`,
    };
  }
  if (!hasDesktop(facts, platform)) return undefined;
  return {
    what: 'this host has a desktop, and a .run file overwrites its graphics libraries',
    next: 'set driver: { method: repo } for this host in the inventory: packages are compatible with a desktop',
  };
}

function releaseObstacle(facts: Facts, { host }: Desired, platform: Platform): Obstacle | undefined {
  const { branch } = host.driver;
  if (fabricSwitches(facts) > 0) {
    return {
      what: 'a .run file contains no fabric manager, which NVSwitches need at the same version',
      next: "set driver: { method: repo } for this host in the inventory: NVIDIA's packages have it",
    };
  }
  const reason = facts.driver.secureBoot === true ? 'Secure Boot is on' : rebootReason(facts, host, platform);
  if (reason === undefined || Number(branch) >= besideLoaded.first) return undefined;
  return {
    what: `${reason}, and the .run files of branch ${branch} install only where they can load their module immediately`,
    next: `set driver: { method: runfile, branch: "${besideLoaded.first}" } or newer, or method: repo, for this host in the inventory`,
  };
}

/** Refuses hosts without enough disk space, by estimated sizes. */
function diskObstacle(facts: Facts): Obstacle | undefined {
  const found = new DiskSpace(facts).reserve(needs);
  return found && { what: `NVIDIA's .run file ${found.what}`, next: found.next };
}

function shortened(names: readonly string[]): string {
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '');
}

/** First branch whose installer can leave a loaded module and nouveau alone (its options; NVIDIA/nvidia-installer). */
const besideLoaded = { first: 550 } as const;

interface Installation {
  readonly branch: string;
  readonly flavor: Flavor;
  readonly uses: readonly DriverUse[];
  /** Do not load the module: the GPUs are in use, or the modules must be signed first. */
  readonly unloaded: boolean;
  /** Release of the kernel to build for; undefined: the running one. */
  readonly kernel: string | undefined;
}

/** Returns the options of a `.run` file's installer: unattended, as the plan announced. Pure. */
export function installerOptions({ branch, flavor, uses, unloaded, kernel }: Installation): string[] {
  return [
    '--silent',
    '--dkms',
    // Earlier branches have one kind of modules.
    ...(Number(branch) < openBranches.first ? [] : [flavor === 'open' ? '-m=kernel-open' : '-m=kernel']),
    // Encoding and decoding libraries are not OpenGL files.
    uses.includes('graphics') ? '--no-install-libglvnd' : '--no-opengl-files',
    ...(unloaded
      ? ['--skip-module-load', '--allow-installation-with-running-driver', '--no-nouveau-check']
      : []),
    ...(kernel === undefined ? [] : [`--kernel-name=${kernel}`]),
  ];
}

/** Registers with DKMS a driver from a `.run` file installed without `--dkms`, which has a module for one kernel only. */
export function* registered(facts: Facts): Generator<Change> {
  const { runfile, dkms, userspace } = facts.driver;
  if (!runfile || dkms !== 'sources' || userspace === undefined) return;
  yield runChange(
    'driver',
    'dkms',
    {
      title: `register NVIDIA driver ${userspace} with DKMS`,
      why: `the driver${origin(facts)} has modules for no other kernel`,
      disturbs: 'nothing',
    },
    { script: `${failFunction}\n${registration(userspace)}`, timeoutS: 300 },
  );
}

/** Refuses a `.run` driver that cannot be built for the kernel that boots next, which would have no GPUs. */
export function unbuildable(facts: Facts, platform: Platform): Refusal | undefined {
  const { runfile, dkms, userspace, loaded } = facts.driver;
  const { next } = buildOf(facts, platform);
  if (!runfile || dkms !== undefined || next === undefined || next.driver) return undefined;
  const version = userspace ?? loaded ?? '';
  return refusal(
    'driver',
    `Linux ${next.release}, which boots next, has no NVIDIA module, and the driver${origin(facts)} is not registered with DKMS`,
    `sudo sh NVIDIA-Linux-${facts.arch}-${version}.run --silent --dkms on the drained host, or remove that kernel`,
  );
}

function registration(version: string): string {
  return sh`output=$(dkms add -m nvidia -v ${version} 2>&1) ||
    fail 'DKMS rejects the driver of the .run file' ${`the sources in /usr/src/nvidia-${version}`} "$output" \
      'check dkms status on the host'`;
}
