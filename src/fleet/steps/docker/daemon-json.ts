import type { Proxy } from '../../inventory/fleet.ts';
import { stableJson } from '../../../shared/base/digest.ts';
import { foreignJson } from '../../../shared/base/foreign-text.ts';
import { isObject } from '../../../shared/base/objects.ts';

/** dockerd's configuration. Unknown keys are kept unchanged. */
export type DaemonConfig = Readonly<Record<string, unknown>>;

/** Parses daemon.json; undefined: not a JSON object, or nested too deeply. An absent or empty file is an empty configuration. */
export function parseDaemonJson(text: string | undefined): DaemonConfig | undefined {
  if (text === undefined || text.trim() === '') return {};
  const value = foreignJson(text);
  return isObject(value) ? value : undefined;
}

export function renderDaemonJson(config: DaemonConfig): string {
  return `${JSON.stringify(config, undefined, 4)}\n`;
}

export function sameConfig(left: DaemonConfig, right: DaemonConfig): boolean {
  return stableJson(left) === stableJson(right);
}

/**
 * Adds what every host needs: log rotation, live-restore (not available with swarm) and the site's proxy. Values that the
 * owner has set stay.
 */
export function withEngineSettings(
  current: DaemonConfig,
  { swarm, proxy }: { readonly swarm: boolean; readonly proxy: Proxy },
): DaemonConfig {
  const driver = current['log-driver'];
  const rotates = driver === undefined || driver === 'json-file' || driver === 'local';
  return {
    ...current,
    ...(swarm || 'live-restore' in current ? {} : { 'live-restore': true }),
    ...(rotates
      ? { 'log-opts': { 'max-size': '100m', 'max-file': '3', ...objectAt(current, 'log-opts') } }
      : {}),
    ...proxies(current, proxy),
  };
}

/** Adds what GPUs need: the NVIDIA runtime, and CDI where this engine has it disabled by default. */
export function withGpuSettings(current: DaemonConfig, engineVersion: string): DaemonConfig {
  const cdiSwitch = usesCdi(engineVersion) && !atLeast(engineVersion, 28, 2);
  return {
    ...current,
    runtimes: {
      ...objectAt(current, 'runtimes'),
      nvidia: objectAt(current, 'runtimes')['nvidia'] ?? { args: [], path: 'nvidia-container-runtime' },
    },
    ...(cdiSwitch ? { features: { ...objectAt(current, 'features'), cdi: true } } : {}),
    ...(cdiSwitch && !atLeast(engineVersion, 28, 0) ? { experimental: true } : {}),
  };
}

/** Returns whether Docker Engine supports CDI devices: since 25.0. */
export function usesCdi(engineVersion: string): boolean {
  return atLeast(engineVersion, 25, 0);
}

function proxies(current: DaemonConfig, proxy: Proxy): DaemonConfig {
  if (proxy.http === undefined && proxy.https === undefined) return {};
  return {
    proxies: {
      ...objectAt(current, 'proxies'),
      ...(proxy.http === undefined ? {} : { 'http-proxy': proxy.http }),
      ...(proxy.https === undefined ? {} : { 'https-proxy': proxy.https }),
      ...(proxy.noProxy.length === 0 ? {} : { 'no-proxy': proxy.noProxy.join(',') }),
    },
  };
}

function objectAt(config: DaemonConfig, key: string): DaemonConfig {
  const value = config[key];
  return isObject(value) ? value : {};
}

/** Returns whether a version as packages or programs print it (`5:29.7.2-1`, `20.10.24+dfsg1`) is the desired release. */
export function isRelease(seen: string | undefined, desired: string): boolean {
  if (seen === undefined) return false;
  const bare = seen.replace(/^\d+:/, '');
  return bare.startsWith(desired) && !/^[\d.]/.test(bare.slice(desired.length));
}

/** Returns whether a version is at least this one: `atLeast('29.7.2', 29, 2)`. */
export function atLeast(version: string, major: number, minor: number): boolean {
  const [seenMajor = 0, seenMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return seenMajor > major || (seenMajor === major && seenMinor >= minor);
}

/** What a major release of Docker Engine no longer supports, by its page "Deprecated features". */
interface Dropped {
  readonly since: number;
  readonly next: string;
}

/** dockerd does not start with an unknown key. */
const droppedKeys: Readonly<Record<string, Dropped>> = {
  graph: { since: 23, next: 'rename it to "data-root"' },
  'cluster-store': { since: 23, next: 'remove it, and recreate the overlay networks that used it' },
  'cluster-store-opts': { since: 23, next: 'remove it' },
  'cluster-advertise': { since: 23, next: 'remove it' },
  'oom-score-adjust': {
    since: 25,
    next: 'remove it, and set OOMScoreAdjust= in a drop-in of docker.service',
  },
  'api-cors-header': { since: 28, next: 'remove it, and let a reverse proxy add the header' },
};

/** Storage drivers, whose images a newer engine does not read. */
const droppedStorage: Readonly<Record<string, number>> = { aufs: 24, overlay: 24, devicemapper: 25 };

/** Returns why dockerd of this version would not start, or would lose its images. `driver`: of the running engine. */
export function droppedObstacle(
  config: DaemonConfig,
  driver: string | undefined,
  version: string,
): { readonly what: string; readonly next: string } | undefined {
  const isDropped = (since: number): boolean => atLeast(version, since, 0);
  for (const [key, { since, next }] of Object.entries(droppedKeys)) {
    if (!(key in config) || !isDropped(since)) continue;
    return {
      what: `/etc/docker/daemon.json has "${key}", with which Docker ${since} and newer do not start`,
      next: `${next}, restart Docker, and run again`,
    };
  }
  const storage = driver ?? config['storage-driver'];
  const [name, since = Number.POSITIVE_INFINITY] =
    Object.entries(droppedStorage).find(([each]) => each === storage) ?? [];
  if (name === undefined || !isDropped(since)) return undefined;
  return {
    what: `Docker stores its images with ${name}, which Docker ${since} and newer cannot read`,
    next: `save what is needed (docker save), set "storage-driver": "overlay2" in /etc/docker/daemon.json, restart Docker, load it again (docker load), and run again; or set docker.version to ${since - 1}.0`,
  };
}
