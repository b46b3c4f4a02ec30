import type { Facts } from '../../facts/facts.ts';
import { type Platform, platformOf, unsupported } from '../../packages/distribution.ts';
import { upstream } from '../../packages/version.ts';
import { type Change, refusal, runChange } from '../change.ts';
import { describeDaemonJson } from '../description.ts';
import { disturbsNode, restartDisturbs } from '../disturbance.ts';
import {
  configFolder,
  configScript,
  engineFunctions,
  restartScript,
  startEngine,
  trialScript,
} from './scripts.ts';
import {
  atLeast,
  type DaemonConfig,
  droppedObstacle,
  isRelease,
  parseDaemonJson,
  renderDaemonJson,
  sameConfig,
  withEngineSettings,
} from './daemon-json.ts';
import { dockerPackages, enginePackages, replacedByDocker } from '../packages/parts.ts';
import { withInstalledVersions, engineObstacle, keepsVendorEngine } from '../vendor-stack.ts';
import { packageChange, type PackageChange } from '../packages/change.ts';
import { partRecord } from '../packages/recorded.ts';
import { addSource, holdPackages } from '../packages/repositories.ts';
import { lacksSiteCa } from '../site-ca.ts';
import type { Desired, Step } from '../step.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';

/** Installs and holds the desired version of Docker Engine from Docker's repository; where Docker has none, the distribution's package. */
export const dockerStep: Step = {
  name: 'docker',
  *plan(facts, configured) {
    const desired = withInstalledVersions(facts, configured);
    if (desired.host.docker.left === true) {
      const found = unmanagedEngineObstacle(facts);
      if (found !== undefined) yield refusal('docker', found.what, found.next);
      return;
    }
    const usesDistribution = keepsVendorEngine(facts);
    const platform = platformOf(facts);
    const obstacle =
      platform === undefined
        ? unsupported(facts)
        : (engineObstacle(facts) ?? dockerRefusal(platform, facts, desired));
    if (platform === undefined || obstacle !== undefined) {
      if (obstacle !== undefined) yield refusal('docker', obstacle.what, obstacle.next);
      return;
    }
    if (!usesDistribution) yield* addSource('docker', 'Docker', 'docker', { platform, facts, desired });
    const install = usesDistribution
      ? distributionEngine(platform, facts, desired)
      : installation(platform, facts, desired);
    const { from, to } = engineConfig(facts, desired);
    const configure = !sameConfig(from, to);
    if (configure) {
      const restart = facts.docker.active && install === undefined;
      yield runChange(
        'docker',
        'configure',
        {
          title: `configure Docker Engine: ${changedKeys(from, to).join(', ')}`,
          why: facts.docker.daemonJson === undefined ? 'daemon.json is missing' : 'daemon.json lacks them',
          disturbs: restart ? restartDisturbs(facts) : 'nothing',
          ...describeDaemonJson(facts.docker.daemonJson, renderDaemonJson(to)),
        },
        {
          script: configScript({ from: facts.docker.daemonJson, to: renderDaemonJson(to), restart }),
          timeoutS: 300,
          writes: [configFolder],
        },
      );
    }
    if (install !== undefined) yield install;
    else yield* upkeep(platform, facts, desired, configure);
  },
};

/** Returns dockerd's present configuration and the one that this step writes. Values that the owner has set stay. */
export function engineConfig(
  facts: Facts,
  desired: Desired,
): { readonly from: DaemonConfig; readonly to: DaemonConfig } {
  const from = parseDaemonJson(facts.docker.daemonJson) ?? {};
  return { from, to: withEngineSettings(from, { swarm: facts.docker.swarm, proxy: desired.proxy }) };
}

/** Returns the top-level keys in which two configurations differ. */
export function changedKeys(from: DaemonConfig, to: DaemonConfig): string[] {
  return Object.keys(to).filter((key) => !sameConfig({ [key]: from[key] }, { [key]: to[key] }));
}

/** Returns installed packages that conflict with Docker's. */
function conflicting({ names }: Platform, { packages }: Facts): readonly string[] {
  return names.engine.conflicts.filter((name) => packages[name] !== undefined);
}

function removalNote(names: readonly string[]): string {
  return names.length === 0 ? '' : `; ${names.join(', ')} will be removed`;
}

function installation(platform: Platform, facts: Facts, desired: Desired): PackageChange | undefined {
  const { version } = desired.host.docker;
  const outdated = enginePackages.filter((name) => !isRelease(facts.packages[name], version));
  if (outdated.length === 0) return undefined;
  const { own } = platform.names.engine;
  const remove = conflicting(platform, facts);
  const [ours, theirs] = [facts.packages['docker-ce'], facts.packages[own]];
  const seen = ours ?? theirs;
  return packageChange({
    step: 'docker',
    name: 'install',
    platform,
    recorded: partRecord('docker', facts, platform),
    subject: {
      what: 'Docker Engine',
      from: ours === undefined ? undefined : upstream(ours),
      to: version,
      replaces: theirs !== undefined,
    },
    why:
      seen === undefined
        ? 'Docker Engine is not installed'
        : `${ours === undefined ? own : 'docker-ce'} ${seen} is installed${removalNote(remove)}`,
    disturbs: facts.docker.active ? 'containers' : disturbsNode(facts, 'nothing'),
    request: { what: `Docker Engine ${version}`, key: 'docker.version' },
    timeoutS: 3600,
    transaction: {
      vendor: 'docker',
      packages: dockerPackages.map((name) =>
        enginePackages.includes(name) ? { name, version: { release: version } } : { name },
      ),
      remove,
      mayRemove: replacedByDocker,
      proxy: desired.proxy,
      // Nothing to read on a fresh host.
      ...((facts.docker.daemonJson ?? '').trim() === ''
        ? {}
        : { trial: { package: 'docker-ce', script: trialScript(version) } }),
      after: `${engineFunctions}\n${startEngine}`,
    },
  });
}

/** Installs the distribution's own engine, at the version that its repository has, not held. Nothing where an engine is installed. */
function distributionEngine(
  platform: Platform,
  facts: Facts,
  { proxy }: Pick<Desired, 'proxy'>,
): PackageChange | undefined {
  const { packages, os } = facts;
  const { own } = platform.names.engine;
  if (packages[own] !== undefined || packages['docker-ce'] !== undefined) return undefined;
  return packageChange({
    step: 'docker',
    name: 'install',
    platform,
    subject: { what: 'Docker Engine', from: undefined, to: undefined, note: " (the distribution's own)" },
    why: `Docker has no packages for ${os.pretty}`,
    disturbs: disturbsNode(facts, 'nothing'),
    timeoutS: 3600,
    transaction: {
      packages: [],
      remove: [],
      mayRemove: [],
      proxy,
      before: sh`bring ${own}`,
      after: `${engineFunctions}\n${startEngine}`,
    },
  });
}

/** Installs packages that belong to the engine and are missing, without changing the engine. */
function* completion(platform: Platform, facts: Facts, desired: Desired): Generator<PackageChange> {
  const absent = dockerPackages.filter((name) => facts.packages[name] === undefined);
  if (absent.length === 0) return;
  const remove = conflicting(platform, facts);
  yield packageChange({
    step: 'docker',
    name: 'complete',
    platform,
    recorded: partRecord('docker', facts, platform),
    subject: { what: absent.join(', '), from: undefined, to: undefined },
    why: `Docker Engine is installed without them${removalNote(remove)}`,
    disturbs: 'nothing',
    timeoutS: 1800,
    transaction: {
      vendor: 'docker',
      packages: absent.map((name) => ({ name })),
      remove,
      mayRemove: replacedByDocker,
      proxy: desired.proxy,
    },
  });
}

/** Completes and holds the desired engine, starts it, and restarts it where another version or configuration runs. */
function* upkeep(platform: Platform, facts: Facts, desired: Desired, restarted: boolean): Generator<Change> {
  if (!keepsVendorEngine(facts)) {
    yield* completion(platform, facts, desired);
    yield* holdPackages('docker', 'Docker packages', { platform, facts }, dockerPackages);
  }
  if (!facts.docker.active || !facts.docker.enabled) {
    yield runChange(
      'docker',
      'start',
      {
        title: 'start Docker Engine, now and at boot',
        why: facts.docker.active ? 'Docker Engine does not start at boot' : 'Docker Engine is not running',
        // dockerd changes the host's packet filter when it starts.
        disturbs: facts.docker.active ? 'nothing' : disturbsNode(facts, 'nothing'),
      },
      { script: `${failFunction}\n${engineFunctions}\n${startEngine}`, timeoutS: 300 },
    );
    return;
  }
  const reason = restarted ? undefined : restartReason(facts, desired);
  if (reason !== undefined) {
    yield runChange(
      'docker',
      'restart',
      {
        title: 'restart Docker Engine',
        why: reason,
        disturbs: restartDisturbs(facts),
      },
      {
        script: restartScript,
        timeoutS: 300,
      },
    );
  }
}

/** Returns why dockerd must restart. Where azp-fleet manages the toolkit, the toolkit step restarts it for newer files. */
function restartReason(facts: Facts, desired: Desired): string | undefined {
  const { version } = desired.host.docker;
  const { serverVersion, restartNeeded } = facts.docker;
  if (!isRelease(serverVersion, version))
    return `${serverVersion ?? 'an unknown version'} is running, ${version} is installed`;
  if (lacksSiteCa(facts, desired))
    return "dockerd reads the site's certificate authority only when it starts";
  const toolkitStepRuns = facts.gpus.length > 0 && desired.host.toolkit.left !== true;
  if (restartNeeded && !toolkitStepRuns)
    return 'its configuration or its helper programs changed since it started';
  return undefined;
}

/** Returns why agents cannot use the host's own engine (`docker: none`), if they cannot. */
function unmanagedEngineObstacle({
  docker,
}: Pick<Facts, 'docker'>): { readonly what: string; readonly next: string } | undefined {
  if (docker.snap) {
    return {
      what: 'Docker is installed as a snap, which does not support GPUs in containers',
      next: 'replace the snap by hand, or remove "docker: none" from the inventory and the snap from the host',
    };
  }
  if (!docker.active) {
    return {
      what: 'docker: none, and no Docker Engine is running',
      next: 'install one by hand and start it (sudo systemctl enable --now docker), or remove "docker: none" from the inventory',
    };
  }
  return undefined;
}

/** Returns why this host cannot get the desired Docker Engine, if it cannot. */
function dockerRefusal(
  { packages: manager, names }: Platform,
  facts: Facts,
  { host, proxy }: Pick<Desired, 'host' | 'proxy'>,
): { readonly what: string; readonly next: string } | undefined {
  const { docker, packages } = facts;
  const { version } = host.docker;
  // docs.docker.com/engine/daemon/proxy: daemon.json knows proxies from 23.0 on; an older dockerd does not start with them.
  if ((proxy.http !== undefined || proxy.https !== undefined) && !atLeast(version, 23, 0)) {
    return {
      what: `Docker ${version} supports no proxy in daemon.json, and the inventory has a proxy`,
      next: 'set docker.version to 23.0 or newer, or remove it',
    };
  }
  if (docker.snap) {
    return {
      what: 'Docker is installed as a snap, which does not support GPUs in containers',
      next: 'sudo snap remove --purge docker (deletes its containers and images), then run again',
    };
  }
  const engine = packages['docker-ce'] ?? packages[names.engine.own];
  if (docker.podman && engine === undefined) {
    const installed = ['podman', 'podman-docker'].filter((name) => packages[name] !== undefined);
    return {
      what: 'this is a Podman host; Docker Engine would take over its containers’ network and commands',
      next: `${manager.removal(installed)} if nothing needs Podman, or remove this host from the inventory`,
    };
  }
  const shared = names.engine.conflicts.filter((name) => packages[name] !== undefined);
  const isNode = () =>
    packages['kubelet'] !== undefined || facts.orchestrators.some(({ name }) => name === 'Kubernetes');
  if (shared.length > 0 && isNode()) {
    return {
      what: `this is a Kubernetes node, and its ${shared.join(', ')} would have to be removed`,
      next: 'remove this host from the inventory, or from its cluster first',
    };
  }
  const config = parseDaemonJson(docker.daemonJson);
  if (config === undefined) {
    return {
      what: '/etc/docker/daemon.json is not a JSON object',
      next: 'correct it by hand (python3 -m json.tool /etc/docker/daemon.json shows where), then run again',
    };
  }
  return droppedObstacle(config, docker.storageDriver, version);
}
