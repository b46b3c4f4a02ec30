import type { Proxy } from '../../inventory/fleet.ts';
import { stableJson } from '../../../shared/base/digest.ts';
import { foreignJson } from '../../../shared/base/foreign-text.ts';
import { isObject } from '../../../shared/base/objects.ts';

/** dockerd's configuration. Keys that we do not know are kept as they are. */
export type DaemonConfig = Readonly<Record<string, unknown>>;

/** Undefined when the text is not a JSON object, or one too deep to be dockerd's. An absent or empty file is an empty configuration. */
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
 * What every host of the fleet needs: logs that do not fill the disk, containers that survive a restart of dockerd
 * (swarm cannot have that), the site's proxy. What the owner has set stays.
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

/** What GPUs need: the NVIDIA runtime by name, and CDI where this engine has it switched off. */
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

/** Docker Engine can inject devices from CDI specifications since 25.0. */
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

/** True when a version as packages or programs print it (`5:29.7.2-1`, `20.10.24+dfsg1`) is the wanted release. */
export function isRelease(seen: string | undefined, wanted: string): boolean {
  if (seen === undefined) return false;
  const bare = seen.replace(/^\d+:/, '');
  return bare.startsWith(wanted) && !/^[\d.]/.test(bare.slice(wanted.length));
}

/** `atLeast('29.7.2', 29, 2)` */
export function atLeast(version: string, major: number, minor: number): boolean {
  const [seenMajor = 0, seenMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  return seenMajor > major || (seenMajor === major && seenMinor >= minor);
}
