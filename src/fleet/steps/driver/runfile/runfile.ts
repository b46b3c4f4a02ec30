import type { Facts } from '../../../facts/facts.ts';
import { managedFiles } from '../../../facts/probes/files.ts';
import { HostPaths } from '../../../../shared/contract/paths.ts';
import type { HostSpec } from '../../../inventory/fleet.ts';
import type { Platform } from '../../../packages/distribution.ts';
import type { Change } from '../../change.ts';
import { rebootChange, refusal, runChange } from '../../changes.ts';
import { reloadDisturbs } from '../../disturbance.ts';
import { titleOf } from '../../packages/title.ts';
import type { Desired, Refusal } from '../../step.ts';
import { flavorFits, flavorFor } from '../flavor.ts';
import { rebootReason, whyInstall } from '../installation.ts';
import { awaitsBoot, buildModule, buildPackages, runfileBuild } from '../kernels.ts';
import { blacklistNouveau, loadModule } from '../scripts.ts';
import { enableServices, wantedServices } from '../services.ts';
import { replaceModule } from '../unload.ts';
import { usesOf } from '../uses.ts';
import { versionFits } from '../wanted.ts';
import { cramped } from './obstacle.ts';
import { installerOptions } from './options.ts';
import { releaseOf, type Release } from './releases.ts';
import { confirmLoaded, fetchScript, installScript } from './scripts.ts';

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
        (next === undefined ? '' : `; Linux ${next.release}, which boots next, gets it, too`),
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
