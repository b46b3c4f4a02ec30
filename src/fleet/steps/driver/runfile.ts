import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { DriverUse, Flavor } from '../../packages/names.ts';
import { type Change, rebootChange, type Refusal, refusal, runChange } from '../change.ts';
import { reloadDisturbs } from '../disturbance.ts';
import { flavorFits, flavorFor, generationObstacle, versionFits } from './compatibility.ts';
import { openBranches } from './generations.ts';
import { rebootReason, whyInstall } from './installation.ts';
import { awaitsBoot, buildModule, buildOf, buildPackages, origin, runfileBuild } from './kernels.ts';
import { blacklistNouveau, loadModule, replaceModule } from './module.ts';
import { driverPackages, hasDesktop } from '../packages/parts.ts';
import { type Release, releaseOf } from './runfile-releases.ts';
import { confirmLoaded, fetchScript, folder, installScript } from './runfile-scripts.ts';
import { secureBootObstacle } from './secure-boot.ts';
import { enableServices, fabricSwitches, wantedServices } from './services.ts';
import { usesOf } from './uses.ts';
import { titleOf } from '../packages/change.ts';
import { Room } from '../packages/disk-space.ts';
import type { Desired } from '../step.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';

/** We have left out what draws, and it is asked for now. */
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

/** The wanted one is installed from its `.run` file, and not what runs: an interrupted run, or a reboot that is due. */
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
  const obstacle = 'what' in release ? release : cramped(facts);
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
  const reboot = rebootReason(facts, exactly(release, desired.host), platform);
  if (reboot !== undefined && !isLoaded(release, facts, desired.host)) yield rebootChange('driver', reboot);
}

/** Whichever version of its branch was asked for. */
function exactly({ version }: Release, { driver }: HostSpec): Pick<HostSpec, 'driver'> {
  return { driver: { ...driver, version } };
}

/** The very module that would be loaded is; what else comes goes with it. */
function isLoaded({ version }: Release, facts: Facts, { driver }: HostSpec): boolean {
  return facts.driver.loaded === version && flavorFits(facts, driver);
}

function fetching(release: Release, { proxy }: Desired, platform: Platform): Change {
  return runChange(
    'driver',
    'runfile-fetch',
    {
      title: `fetch ${release.file}`,
      why: `the driver is to come from it; it is run only with sha256 ${release.sha256.slice(0, 12)}…`,
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
  const { loaded, userspace, takenAway, nouveau, secureBoot } = facts.driver;
  const flavor = flavorFor(facts, host.driver);
  const uses = usesOf(host);
  const extent = uses.length === 0 ? 'compute only' : `with ${uses.join(' and ')}`;
  const seen = takenAway ? undefined : (loaded ?? userspace);
  const reboot = rebootReason(facts, exactly(release, host), platform);
  const units = wantedServices(facts, false);
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
      why:
        whyInstall(facts) +
        (next === undefined ? '' : `; Linux ${next.release}, which boots next, gets it too`),
      disturbs:
        loaded === undefined || reboot === undefined
          ? reloadDisturbs(facts)
          : isLoaded(release, facts, host)
            ? 'containers'
            : 'machine',
      marker: seen === undefined ? 'add' : 'change',
      details: [{ marker: 'add', text: `its installer runs with ${options.join(' ')}` }],
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
 * Bytes that it takes: the file (398 MB of 580.173.02, as NVIDIA's server has it), what is unpacked of it while it is installed,
 * what stays below /usr, and sources and modules of DKMS; of the last three nobody tells, so about three times as much each.
 */
const needs = { [folder]: 1_800_000_000, '/usr': 1_400_000_000, '/var/lib': 300_000_000 };

/** Why NVIDIA's `.run` file cannot be run over what is there. */
export function runfileObstacle(facts: Facts, desired: Desired, platform: Platform): Obstacle | undefined {
  const { host, included } = desired;
  if (included !== undefined) {
    return {
      what: 'a bundle has packages, and no .run file of a driver',
      next: 'set driver: { method: repo } for this host in the inventory, or leave --bundle out',
    };
  }
  return (
    foreign(facts, platform) ??
    generationObstacle(facts, host.driver) ??
    unfit(facts, desired, platform) ??
    secureBootObstacle(facts, host, platform)
  );
}

/** What the installer would write over, and package managers write over again. */
function foreign(facts: Facts, platform: Platform): Obstacle | undefined {
  const packages = driverPackages(facts, platform);
  if (packages.length > 0) {
    return {
      what: `a driver is installed from packages (${shortened(packages)}), and a .run file must not be mixed with them`,
      next: `${platform.packages.removal(packages)}, reboot, and run again`,
    };
  }
  if (!hasDesktop(facts, platform)) return undefined;
  return {
    what: 'this host has a desktop, and a .run file writes over what it draws with',
    next: 'set driver: { method: repo } for this host in the inventory, whose packages go with those of a desktop',
  };
}

function unfit(facts: Facts, { host }: Desired, platform: Platform): Obstacle | undefined {
  const { branch } = host.driver;
  if (fabricSwitches(facts) > 0) {
    return {
      what: 'a .run file comes without the fabric manager, which must have its very version and which NVSwitches need',
      next: "set driver: { method: repo } for this host in the inventory, for NVIDIA's packages, which have it",
    };
  }
  const reason = facts.driver.secureBoot === true ? 'Secure Boot is on' : rebootReason(facts, host, platform);
  if (reason === undefined || Number(branch) >= besideLoaded.first) return undefined;
  return {
    what: `${reason}, and the .run files of branch ${branch} install only where they can load their module at once`,
    next: `set driver: { method: runfile, branch: "${besideLoaded.first}" } or newer, or method: repo, for this host in the inventory`,
  };
}

/** What is not there cannot be measured on the host beforehand: these are figures of such files. */
function cramped(facts: Facts): Obstacle | undefined {
  const found = new Room(facts).take(needs);
  return found && { what: `NVIDIA's .run file ${found.what}`, next: found.next };
}

function shortened(names: readonly string[]): string {
  return names.slice(0, 3).join(', ') + (names.length > 3 ? ` and ${names.length - 3} more` : '');
}

/** The installer can leave alone a module that is loaded, and nouveau, from here on (its options; NVIDIA/nvidia-installer). */
const besideLoaded = { first: 550 } as const;

interface Installation {
  readonly branch: string;
  readonly flavor: Flavor;
  readonly uses: readonly DriverUse[];
  /** Something holds the GPUs, or the modules must be signed first: nothing is loaded. */
  readonly unloaded: boolean;
  /** For another kernel than the running one. */
  readonly kernel: string | undefined;
}

/** What the installer of a `.run` file is told: to ask nothing, and what the plan has said. Pure. */
export function installerOptions({ branch, flavor, uses, unloaded, kernel }: Installation): string[] {
  return [
    '--silent',
    '--dkms',
    // Before, there is one kind.
    ...(Number(branch) < openBranches.first ? [] : [flavor === 'open' ? '-m=kernel-open' : '-m=kernel']),
    // What encodes and decodes is none of them.
    uses.includes('graphics') ? '--no-install-libglvnd' : '--no-opengl-files',
    ...(unloaded
      ? ['--skip-module-load', '--allow-installation-with-running-driver', '--no-nouveau-check']
      : []),
    ...(kernel === undefined ? [] : [`--kernel-name=${kernel}`]),
  ];
}

/** A driver from a `.run` file that was installed without `--dkms` is there for one kernel alone. */
export function* registered(facts: Facts): Generator<Change> {
  const { runfile, dkms, userspace } = facts.driver;
  if (!runfile || dkms !== 'sources' || userspace === undefined) return;
  yield runChange(
    'driver',
    'dkms',
    {
      title: `register NVIDIA driver ${userspace} with DKMS`,
      why: `the driver${origin(facts)} would be there for no other kernel`,
      disturbs: 'nothing',
    },
    { script: `${failFunction}\n${registration(userspace)}`, timeoutS: 300 },
  );
}

/** Nothing of it can be built for the kernel that boots next, which therefore has no GPUs. */
export function unbuildable(facts: Facts, platform: Platform): Refusal | undefined {
  const { runfile, dkms, userspace, loaded } = facts.driver;
  const { next } = buildOf(facts, platform);
  if (!runfile || dkms !== undefined || next === undefined || next.driver) return undefined;
  const version = userspace ?? loaded ?? '';
  return refusal(
    'driver',
    `Linux ${next.release}, which boots next, has no NVIDIA module, and the driver${origin(facts)} is not known to DKMS`,
    `sudo sh NVIDIA-Linux-${facts.arch}-${version}.run --silent --dkms on the drained host, or remove that kernel`,
  );
}

function registration(version: string): string {
  return sh`words=$(dkms add -m nvidia -v ${version} 2>&1) ||
  fail 'DKMS does not take the driver of the .run file' ${`the sources in /usr/src/nvidia-${version}`} "$words" \
    'look at dkms status on the host'`;
}
