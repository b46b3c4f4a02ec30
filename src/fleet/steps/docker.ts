import { failFunction, sh } from '../../shared/base/shell.ts';
import type { Facts } from '../facts/facts.ts';
import { platformOf, unsupported, type Platform } from '../packages/distribution.ts';
import { upstream } from '../packages/version.ts';
import type { Change } from './change.ts';
import { refusal, runChange } from './changes.ts';
import { restartDisturbs } from './disturbance.ts';
import { configFolder, configScript } from './docker/config-script.ts';
import {
  parseDaemonJson,
  renderDaemonJson,
  sameConfig,
  withEngineSettings,
  type DaemonConfig,
} from './docker/daemon-json.ts';
import { engineFunctions, restartScript, startEngine } from './docker/engine-script.ts';
import { describeDaemonJson } from './description.ts';
import { leftEngineObstacle } from './docker/left.ts';
import { dockerPackages, enginePackages, replaced } from './docker/packages.ts';
import { dockerRefusal } from './docker/refusal.ts';
import { isRelease } from './docker/release.ts';
import { packageChange, type PackageChange } from './packages/package-change.ts';
import { partRecord } from './packages/recorded.ts';
import { asFound, engineObstacle, keepsEngine } from './kept-stack.ts';
import { addSource, holdPackages } from './packages/upkeep.ts';
import { lacksSiteCa } from './site-ca.ts';
import type { Desired, Step } from './step.ts';

/** Docker Engine from Docker's own repository, at exactly the wanted version, held there; the system's own where Docker has none for it. */
export const dockerStep: Step = {
  name: 'docker',
  *plan(facts, wished) {
    const desired = asFound(facts, wished);
    if (desired.host.docker.left === true) {
      const found = leftEngineObstacle(facts);
      if (found !== undefined) yield refusal('docker', found.what, found.next);
      return;
    }
    const kept = keepsEngine(facts);
    const platform = platformOf(facts);
    const obstacle =
      platform === undefined
        ? unsupported(facts)
        : (engineObstacle(facts) ?? dockerRefusal(platform, facts, desired));
    if (platform === undefined || obstacle !== undefined) {
      if (obstacle !== undefined) yield refusal('docker', obstacle.what, obstacle.next);
      return;
    }
    if (!kept) yield* addSource('docker', "Docker's", 'docker', { platform, facts, desired });
    const install = kept ? ownEngine(platform, facts, desired) : installation(platform, facts, desired);
    const { from, to } = engineConfig(facts, desired);
    const configure = !sameConfig(from, to);
    if (configure) {
      const restart = facts.docker.active && install === undefined;
      yield runChange(
        'docker',
        'configure',
        {
          title: `configure Docker Engine: ${changedKeys(from, to).join(', ')}`,
          why: facts.docker.daemonJson === undefined ? 'there is no daemon.json' : 'daemon.json lacks them',
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

/** The configuration as it is, and as this step leaves it. What the owner set stays. */
export function engineConfig(
  facts: Facts,
  desired: Desired,
): { readonly from: DaemonConfig; readonly to: DaemonConfig } {
  const from = parseDaemonJson(facts.docker.daemonJson) ?? {};
  return { from, to: withEngineSettings(from, { swarm: facts.docker.swarm, proxy: desired.proxy }) };
}

/** The top-level keys in which two configurations differ. */
export function changedKeys(from: DaemonConfig, to: DaemonConfig): string[] {
  return Object.keys(to).filter((key) => !sameConfig({ [key]: from[key] }, { [key]: to[key] }));
}

/** Packages that hold the same files, or what Docker's packages conflict with. */
function inTheWay({ names }: Platform, { packages }: Facts): readonly string[] {
  return names.engine.conflicts.filter((name) => packages[name] !== undefined);
}

function mustGo(names: readonly string[]): string {
  return names.length === 0 ? '' : `; ${names.join(', ')} must go`;
}

function installation(platform: Platform, facts: Facts, desired: Desired): PackageChange | undefined {
  const { version } = desired.host.docker;
  const wrong = enginePackages.filter((name) => !isRelease(facts.packages[name], version));
  if (wrong.length === 0) return undefined;
  const { own } = platform.names.engine;
  const remove = inTheWay(platform, facts);
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
        : `${ours === undefined ? own : 'docker-ce'} ${seen} is installed${mustGo(remove)}`,
    disturbs: facts.docker.active ? 'containers' : 'nothing',
    wish: { what: `Docker Engine ${version}`, key: 'docker.version' },
    timeoutS: 3600,
    transaction: {
      vendor: 'docker',
      packages: dockerPackages.map((name) =>
        enginePackages.includes(name) ? { name, version: { release: version } } : { name },
      ),
      remove,
      mayRemove: replaced,
      proxy: desired.proxy,
      after: `${engineFunctions}\n${startEngine}`,
    },
  });
}

/** The system's own engine, in the version that its own source has, and not held there. Nothing where some engine is installed. */
function ownEngine(
  platform: Platform,
  { packages, os }: Facts,
  { proxy }: Pick<Desired, 'proxy'>,
): PackageChange | undefined {
  const { own } = platform.names.engine;
  if (packages[own] !== undefined || packages['docker-ce'] !== undefined) return undefined;
  return packageChange({
    step: 'docker',
    name: 'install',
    platform,
    subject: { what: 'Docker Engine', from: undefined, to: undefined, note: " (the system's own)" },
    why: `Docker has no packages for ${os.pretty}, and its own engine is not installed`,
    disturbs: 'nothing',
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

/** Packages beside the engine that somebody left out. They come without touching it. */
function* completion(platform: Platform, facts: Facts, desired: Desired): Generator<PackageChange> {
  const absent = dockerPackages.filter((name) => facts.packages[name] === undefined);
  if (absent.length === 0) return;
  const remove = inTheWay(platform, facts);
  yield packageChange({
    step: 'docker',
    name: 'complete',
    platform,
    recorded: partRecord('docker', facts, platform),
    subject: { what: absent.join(', '), from: undefined, to: undefined },
    why: `Docker Engine is there without them${mustGo(remove)}`,
    disturbs: 'nothing',
    timeoutS: 1800,
    transaction: {
      vendor: 'docker',
      packages: absent.map((name) => ({ name })),
      remove,
      mayRemove: replaced,
      proxy: desired.proxy,
    },
  });
}

/** The right engine is there: is it complete and held, and does the engine run, with this version and its configuration? */
function* upkeep(platform: Platform, facts: Facts, desired: Desired, restarted: boolean): Generator<Change> {
  if (!keepsEngine(facts)) {
    yield* completion(platform, facts, desired);
    yield* holdPackages('docker', 'Docker packages', { platform, facts }, dockerPackages);
  }
  if (!facts.docker.active || !facts.docker.enabled) {
    yield runChange(
      'docker',
      'start',
      {
        title: 'start Docker Engine, now and at boot',
        why: facts.docker.active ? 'it would not run after a reboot' : 'it is installed and does not run',
        disturbs: 'nothing',
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

/** Where the toolkit is ours, its step looks after what is newer than the running dockerd. */
function restartReason(facts: Facts, desired: Desired): string | undefined {
  const { version } = desired.host.docker;
  const { serverVersion, restartNeeded } = facts.docker;
  if (!isRelease(serverVersion, version))
    return `${serverVersion ?? 'an unknown version'} runs, ${version} is installed`;
  if (lacksSiteCa(facts, desired)) return "it reads the site's certificate authority when it starts";
  const looked = facts.gpus.length > 0 && desired.host.toolkit.left !== true;
  if (restartNeeded && !looked) return 'its configuration, or what it starts, is newer than itself';
  return undefined;
}
