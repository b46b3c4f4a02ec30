import path from 'node:path';

import { defined } from '../../shared/base/objects.ts';
import { parseDuration, parseRate, parseShare } from '../../shared/base/quantities.ts';
import type { Dataset } from '../../shared/contract/config.ts';
import type { Agents, DriverCapabilities, SlotSpec } from '../../shared/contract/slots.ts';
import type {
  CredentialSource,
  DockerfileSpec,
  DriverSpec,
  HostIdentity,
  HostSpec,
  Mirrors,
  Proxy,
  RegistrySource,
  SecretSource,
  SshSpec,
  UploadLimits,
  VersionSpec,
  WaveLimits,
  WebhookSpec,
} from './fleet.ts';
import { fillPool, type PlaceholderValues } from './pool-pattern.ts';
import { defaultUploads, defaultVersions, defaultWaves, defaultWebhook } from './schema/defaults.ts';
import type { Group, InventoryFile } from './schema/file.ts';
import type { HostEntry, HostVars } from './schema/host.ts';

export interface Folders {
  /** The inventory's folder: relative paths start there. */
  readonly folder: string;
  readonly home: string;
}

/** Returns the settings of one host, with groups and defaults applied. */
export function resolveHost(name: string, file: InventoryFile, folders: Folders): HostSpec {
  const groups = groupsOf(name, file.groups ?? {});
  const vars = varsOf(file, name, groups);
  const known = defined({ host: name, group: groups.at(-1) });
  return {
    name,
    groups,
    labels: texts(vars.labels),
    ssh: resolveSsh(vars, folders),
    pool: fillPool(vars.pool ?? '', known),
    agents: resolveAgents(vars, known),
    share: vars.share ?? false,
    ...resolveGpus(vars.gpus),
    ...defined({ image: vars.image, baseImage: vars.baseImage }),
    ...(vars.dockerfile === undefined ? {} : { dockerfile: resolveDockerfile(vars.dockerfile, folders) }),
    agentName: vars.agentName ?? '{host}-{slot}',
    limits: defined(vars.limits ?? {}),
    driverCapabilities: driverCapabilities(vars),
    driver: resolveDriver(vars.driver),
    docker: versionOf(vars.docker, defaultVersions.docker),
    toolkit: versionOf(vars.toolkit, defaultVersions.toolkit),
    agent: {
      version: vars.agent?.version ?? defaultVersions.agent,
      sha256: { x64: vars.agent?.sha256?.x64, arm64: vars.agent?.sha256?.arm64 },
    },
    datasets: resolveDatasets(vars.datasets),
    jobs: { sudo: vars.jobs?.sudo ?? false, docker: vars.jobs?.docker ?? false },
    fence: vars.network ?? (file.managedIdentity ? 'required' : 'best-effort'),
    connectivityCheck: vars.connectivityCheck ?? 'on',
    registration: vars.registration ?? 'rest',
    ...defined({ webhook: resolveWebhook(vars.webhook, folders), idle: resolveIdle(vars.idle) }),
    capabilities: texts(vars.capabilities),
  };
}

function resolveSsh(vars: HostEntry, folders: Folders): SshSpec {
  const { address, port, user, jump } = vars;
  return {
    ...defined({ address, port, user, jump }),
    ...(vars.identityFile === undefined ? {} : { identityFile: absolute(vars.identityFile, folders) }),
    ...(vars.sshConfig === undefined
      ? {}
      : { sshConfig: vars.sshConfig === 'none' ? 'none' : absolute(vars.sshConfig, folders) }),
    transport: vars.transport ?? 'builtin',
    hostKeys: vars.hostKeys ?? [],
    hostKeyPolicy: vars.hostKeyPolicy ?? 'accept-new',
    ...(vars.sudoPassword ? { sudoPassword: resolveSource(vars.sudoPassword, folders) } : {}),
    ...(vars.loginPassword ? { loginPassword: resolveSource(vars.loginPassword, folders) } : {}),
  };
}

function resolveGpus(gpus: HostEntry['gpus']): Pick<HostSpec, 'gpus' | 'ignoredGpus'> {
  if (typeof gpus !== 'object') return defined({ gpus });
  return defined({ gpus: gpus.count, ignoredGpus: gpus.ignore });
}

function resolveAgents(vars: HostEntry, known: PlaceholderValues): Agents {
  if (typeof vars.agents === 'number') return { kind: 'count', count: vars.agents };
  if (!Array.isArray(vars.agents)) return { kind: 'one-per-gpu' };
  const slots = vars.agents.map((slot): SlotSpec => ({
    ...defined({ name: slot.name }),
    gpus: slot.gpus ?? [],
    share: slot.share ?? vars.share ?? false,
    limits: defined({ ...vars.limits, ...slot.limits }),
    capabilities: slot.capabilities ?? driverCapabilities(vars),
    mode: slot.mode ?? 'container',
    ...defined({ pool: slot.pool === undefined ? undefined : fillPool(slot.pool, known), image: slot.image }),
  }));
  return { kind: 'slots', slots };
}

function driverCapabilities(vars: HostEntry): DriverCapabilities {
  return vars.driverCapabilities ?? ['compute', 'utility'];
}

function versionOf(entry: HostEntry['docker'], fallback: string): VersionSpec {
  if (entry === 'none') return { version: fallback, left: true };
  return entry?.version === undefined ? { version: fallback, orNewer: true } : { version: entry.version };
}

function resolveDriver(entry: HostEntry['driver']): DriverSpec {
  const driver: Exclude<HostEntry['driver'], 'none'> = entry === 'none' ? { method: 'none' } : entry;
  const method = driver?.method ?? 'repo';
  return {
    install: method !== 'none',
    branch: driver?.branch ?? driver?.version?.split('.')[0] ?? defaultVersions.driverBranch,
    ...defined({ version: driver?.version, sha256: driver?.sha256 }),
    ...(driver?.branch === undefined && driver?.version === undefined ? { orNewer: true } : {}),
    flavor: driver?.flavor ?? 'auto',
    method: method === 'none' ? 'repo' : method,
  };
}

function resolveDatasets(datasets: HostEntry['datasets']): Dataset[] {
  return Object.entries(datasets ?? {}).map(([name, { host, container, requireMount }]) => ({
    name,
    host,
    container,
    requireMount: requireMount ?? false,
  }));
}

function resolveDockerfile(written: NonNullable<HostEntry['dockerfile']>, folders: Folders): DockerfileSpec {
  const { folder, ...rest } = typeof written === 'string' ? { folder: written } : written;
  return { folder: absolute(folder, folders), ...defined(rest) };
}

function resolveWebhook(webhook: HostEntry['webhook'], folders: Folders): WebhookSpec | undefined {
  if (typeof webhook !== 'object') return undefined;
  const { url, offline = defaultWebhook.offline, queueWait = defaultWebhook.queueWait } = webhook;
  return {
    url: resolveSource(url, folders),
    offlineS: (parseDuration(offline) ?? 0) / 1000,
    queueWaitS: (parseDuration(queueWait) ?? 0) / 1000,
  };
}

function resolveIdle(idle: HostEntry['idle']): HostSpec['idle'] {
  if (typeof idle !== 'object') return undefined;
  return { afterS: (parseDuration(idle.after) ?? 0) / 1000, run: idle.run ?? 'poweroff' };
}

/** Returns undefined if not exactly one credential of this machine is set; check.ts reports that. */
export function resolveCredential(file: InventoryFile, folders: Folders): CredentialSource | undefined {
  const { token } = file;
  const servicePrincipal = file.servicePrincipal?.federation ? undefined : file.servicePrincipal;
  if (token && !servicePrincipal)
    return { kind: 'pat', token: resolveSource(token, folders), ...defined({ expires: token.expires }) };
  if (!servicePrincipal || token) return undefined;
  const { clientId, tenantId, expires } = servicePrincipal;
  const authority = servicePrincipal.authority?.replace(/\/+$/, '');
  const { certificate, secret } = servicePrincipal;
  return {
    kind: 'service-principal',
    clientId,
    tenantId,
    ...(certificate === undefined
      ? { secret: resolveSource(secret ?? {}, folders) }
      : { secret: { file: absolute(certificate, folders) }, proof: 'certificate' }),
    ...defined({ authority, expires }),
  };
}

/** Returns how the managers log in without a stored secret. */
export function resolveIdentity({
  servicePrincipal,
  managedIdentity,
}: InventoryFile): HostIdentity | undefined {
  if (managedIdentity) return { kind: 'managed-identity', ...defined(managedIdentity) };
  const { federation, clientId, tenantId } = servicePrincipal ?? {};
  if (federation === undefined || clientId === undefined || tenantId === undefined) return undefined;
  const { tokenFile } = federation;
  const authority = servicePrincipal?.authority?.replace(/\/+$/, '');
  return {
    kind: 'service-principal',
    proof: 'federation',
    clientId,
    tenantId,
    tokenFile,
    ...defined({ authority }),
  };
}

function resolveSource(source: NonNullable<HostEntry['sudoPassword']>, folders: Folders): SecretSource {
  if (source.env !== undefined) return { env: source.env };
  if (source.file !== undefined) return { file: absolute(source.file, folders) };
  if (source.cmd !== undefined) return { cmd: source.cmd };
  return { prompt: true };
}

export function resolveMirrors(mirrors: InventoryFile['mirrors']): Mirrors {
  const { nvidiaDriver, nvidiaRunfile, docker, toolkit, epel, agent, apt, images, npm } = mirrors ?? {};
  const trimmed = { nvidiaDriver, nvidiaRunfile, docker, toolkit, epel, agent, apt, images, npm };
  return defined(
    Object.fromEntries(Object.entries(trimmed).map(([key, value]) => [key, value?.replace(/\/+$/, '')])),
  );
}

export function resolveRegistries(file: InventoryFile, folders: Folders): Record<string, RegistrySource> {
  const entries = Object.entries(file.registries ?? {});
  return Object.fromEntries(
    entries.map(([registry, { user, secret }]) => [
      registry,
      { user, secret: resolveSource(secret, folders) },
    ]),
  );
}

export function resolveProxy(file: InventoryFile, folders: Folders): Proxy {
  const { http, https, noProxy } = file.proxy ?? {};
  const ca = file.ca === undefined ? undefined : absolute(file.ca, folders);
  return { ...defined({ http, https, ca }), noProxy: noProxy ?? [] };
}

export function resolveUploads(uploads: InventoryFile['uploads']): UploadLimits {
  const bandwidth = uploads?.bandwidth === undefined ? undefined : parseRate(uploads.bandwidth);
  return { ...defined({ bandwidth }), parallel: uploads?.parallel ?? defaultUploads.parallel };
}

export function resolveWaves(waves: InventoryFile['waves']): WaveLimits {
  const { maxUnavailable, maxFailures } = waves ?? {};
  return {
    maxUnavailable: parseShare(String(maxUnavailable)) ?? defaultWaves.maxUnavailable,
    maxFailures: parseShare(String(maxFailures)) ?? defaultWaves.maxFailures,
  };
}

/** Returns an absolute path: `~` is the user's home, other paths are relative to the inventory. */
function absolute(file: string, folders: Folders): string {
  const expanded = file === '~' || file.startsWith('~/') ? path.join(folders.home, file.slice(1)) : file;
  return path.resolve(folders.folder, expanded);
}

function texts(
  values: Readonly<Record<string, string | number | boolean>> | undefined,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values ?? {}).map(([key, value]) => [key, String(value)]));
}

/** Returns the groups of a host, outer ones first: a later one overrides an earlier one. */
export function groupsOf(host: string, groups: Readonly<Record<string, Group>>): string[] {
  const direct = Object.keys(groups).filter((name) => groups[name]?.hosts?.includes(host) === true);
  const found: string[] = [];
  for (const name of direct)
    for (const each of withParents(name, groups, [])) if (!found.includes(each)) found.push(each);
  return found;
}

function withParents(
  name: string,
  groups: Readonly<Record<string, Group>>,
  below: readonly string[],
): string[] {
  if (below.includes(name)) return [];
  const parents = Object.keys(groups).filter((each) => groups[each]?.children?.includes(name) === true);
  return [...parents.flatMap((parent) => withParents(parent, groups, [...below, name])), name];
}

/**
 * Merges `defaults`, the vars of the groups, and those of the host. Maps are merged by key; volumes become datasets.
 */
function varsOf(file: InventoryFile, host: string, groups: readonly string[]): HostEntry {
  const layers: (HostVars | HostEntry)[] = [
    file.defaults ?? {},
    ...groups.map((name) => file.groups?.[name]?.vars ?? {}),
    file.hosts[host] ?? {},
  ];
  return layers.map(withoutVolumes).reduce<HostEntry>(merge, {});
}

function merge(below: HostEntry, above: HostEntry): HostEntry {
  return {
    ...below,
    ...above,
    ...oneImage(above),
    ...both('limits', below, above),
    ...both('labels', below, above),
    ...both('capabilities', below, above),
    ...both('docker', below, above),
    ...both('toolkit', below, above),
    ...both('jobs', below, above),
    ...both('datasets', below, above),
    ...mergeAgent(below, above),
    ...mergeDriver(below, above),
    ...mergeGpus(below, above),
  };
}

/** Removes the image or the dockerfile that a stronger layer replaces by the other one. */
function oneImage(above: HostVars): Partial<HostVars> {
  if (above.dockerfile !== undefined && above.image === undefined) return { image: undefined };
  return above.image !== undefined && above.dockerfile === undefined ? { dockerfile: undefined } : {};
}

/** Turns volumes, the short form, into datasets. */
function withoutVolumes(layer: HostVars | HostEntry): HostEntry {
  const { volumes, ...rest } = layer;
  if (volumes === undefined) return rest;
  const short = volumes.map((volume) => {
    const { name, host, container } = parseVolume(volume);
    return [name, { host, container }] as const;
  });
  return { ...rest, datasets: { ...Object.fromEntries(short), ...rest.datasets } };
}

/** Parses `host:container:ENV`, which the schema has validated. */
export function parseVolume(text: string): { name: string; host: string; container: string } {
  const [host = '', container = '', name = ''] = text.split(':');
  return { name, host, container };
}

type MapKey = 'limits' | 'labels' | 'capabilities' | 'docker' | 'toolkit' | 'jobs' | 'datasets';

function both(key: MapKey, below: HostVars, above: HostVars): Partial<HostVars> {
  const [lower, upper] = [below[key], above[key]];
  return typeof lower === 'object' && typeof upper === 'object' ? { [key]: { ...lower, ...upper } } : {};
}

function mergeAgent(below: HostVars, above: HostVars): Partial<HostVars> {
  if (!below.agent || !above.agent) return {};
  // Another version has other digests: those of the layer below would not match.
  const keep = above.agent.version === undefined || above.agent.version === below.agent.version;
  const sha256 = { ...(keep ? below.agent.sha256 : {}), ...above.agent.sha256 };
  return { agent: { ...below.agent, ...above.agent, sha256 } };
}

/** Merges GPU settings; a number is the short form of `count`. */
function mergeGpus(below: HostVars, above: HostVars): Partial<HostVars> {
  if (below.gpus === undefined || above.gpus === undefined) return {};
  const [lower, upper] = [below.gpus, above.gpus].map((gpus) =>
    typeof gpus === 'number' ? { count: gpus } : gpus,
  );
  return { gpus: { ...lower, ...upper } };
}

function mergeDriver(below: HostVars, above: HostVars): Partial<HostVars> {
  const [lower, upper] = [below.driver, above.driver];
  if (typeof lower !== 'object' || typeof upper !== 'object') return {};
  // An exact version belongs to its branch, and a digest to its version.
  const { version, sha256, ...rest } = lower;
  const keep = version !== undefined && [undefined, version.split('.')[0]].includes(upper.branch);
  const same = keep && (upper.version === undefined || upper.version === version);
  return {
    driver: { ...rest, ...(keep ? { version } : {}), ...(same ? defined({ sha256 }) : {}), ...upper },
  };
}
