import {
  configDefaults,
  type Dataset,
  type ImageConfig,
  type ManagerConfig,
  isConfigKey,
  readConfig,
  type StoredConfig,
} from '../../../shared/contract/config.ts';
import { slotSpecs, type Agents, type SlotSpec } from '../../../shared/contract/slots.ts';
import { foreignLine } from '../../../shared/base/foreign-text.ts';
import type { Detail } from '../change.ts';
import { bounded, compare, details, isDowngrade, listed, type Item, type KeyTexts } from '../description.ts';
import {
  agentDetails,
  agentsNow,
  agentsOf,
  gpuDetails,
  memoryDetails,
  slotDetails,
  type SharedHost,
} from './consequences.ts';

const unknownValue = 'unknown to this release';
const cpuEffect = 'applies while CPUs are short; unused CPUs are free for all';
const diskEffect = "where Docker's storage supports it; `status` says where it does not";
const onTheHost = 'its jobs run directly on this host, without a container';

/** The keys of manager.json in a plan: their names, values and consequences. Other keys are shown under their own name. */
const keyTexts: KeyTexts = {
  host: { label: 'name of the host' },
  organization: { effect: (from) => from && `agents that are registered in ${from} are not removed there` },
  schema: { effect: { '2': 'managers of release 0.2.0 refuse this login' } },
  credential: { text: credentialText },
  'slots.*': {
    label: 'slot *',
    text: slotText,
    effect: (_, to) => (to?.includes('mode host') === true ? onTheHost : undefined),
  },
  'slots.*.gpus': { text: gpusText },
  'slots.*.capabilities': { text: listed },
  'slots.*.limits.cpus': { effect: cpuEffect },
  'slots.*.limits.disk': { effect: diskEffect },
  'slots.*.mode': { effect: { host: onTheHost, container: 'its jobs run in containers' } },
  'slots.*.image': { effect: { '': "the slot runs the host's image" } },
  share: { effect: { true: 'agents take turns on GPUs' } },
  ignoredGpus: { label: 'gpus.ignore', text: listed, effect: 'slots are numbered without them' },
  'limits.cpus': { effect: cpuEffect },
  'limits.disk': { effect: diskEffect },
  driverCapabilities: { text: listed },
  image: { text: imageText },
  'image.reference': { label: 'image' },
  'image.agentVersion': {
    label: 'agent version',
    effect: (from, to) => (to !== undefined && isDowngrade(from, to) ? 'a downgrade' : undefined),
  },
  'image.agentSha256': { label: 'agent sha256', text: short },
  'image.agentUrl': { label: 'mirrors.agent' },
  'image.base': { label: 'baseImage' },
  'image.registry': { label: 'mirrors.images' },
  'image.aptMirror': { label: 'mirrors.apt' },
  'image.top': { label: 'dockerfile', text: ({ name }: { readonly name: string }) => name },
  'image.top.name': { label: 'dockerfile' },
  'image.top.folder': { label: 'files of the dockerfile', text: short },
  'image.top.push': { label: 'image is pushed to' },
  'datasets.*': {
    label: 'dataset *',
    text: datasetText,
    effect: {
      '': 'jobs no longer have this dataset',
      '*': 'slots wait while its folder is missing or empty',
    },
  },
  'jobs.sudo': {
    effect: { true: 'jobs may become root inside their container', false: 'jobs can no longer become root' },
  },
  'jobs.docker': {
    effect: {
      true: "jobs may use Docker's socket: root on this host",
      false: "jobs can no longer use Docker's socket",
    },
  },
  fence: {
    label: 'network',
    effect: {
      required: 'no job starts without network isolation',
      '': 'jobs also run while network isolation fails',
    },
  },
  registration: {
    effect: {
      rest: 'no container gets the token',
      config: "the agent's config.sh gets the token, in a container without a job",
    },
  },
  'capabilities.*': { label: 'capability *' },
  'proxy.noProxy': { text: listed },
  webhook: {
    text: ({ offlineS, queueWaitS }: NonNullable<ManagerConfig['webhook']>) =>
      `agents offline for ${offlineS} s, jobs queued for ${queueWaitS} s`,
    effect: {
      '*': 'the webhook also reports closed slots',
      '': 'problems of this host are no longer reported',
    },
  },
  'webhook.offlineS': { label: 'webhook.offline', text: (seconds: number) => `${seconds} s` },
  'webhook.queueWaitS': { label: 'webhook.queueWait', text: (seconds: number) => `${seconds} s` },
  idle: {
    text: ({ afterS, run }: NonNullable<ManagerConfig['idle']>) => `${run} after ${timeText(afterS)}`,
    effect: {
      '*': 'running and queued jobs, logins and containers of others keep the machine on',
      '': 'the machine stays on',
    },
  },
  'idle.afterS': { label: 'idle.after', text: timeText },
  connectivityCheck: {
    effect: {
      off: 'a lost connection to Azure DevOps shows minutes later',
      '': 'a lost connection to Azure DevOps shows within 90 s',
    },
  },
  metricsPort: { label: 'metrics port', text: (port: number) => (port === 0 ? 'none' : String(port)) },
};

/** A host's manager.json, with what its slots share. */
export interface OnHost extends SharedHost {
  /** sha256; undefined: no manager.json. */
  readonly digest: string | undefined;
  /** Undefined: absent, too long, or not text. */
  readonly text: string | undefined;
}

export interface ConfigDescription {
  readonly details: readonly Detail[];
  /** Why the details are incomplete. */
  readonly remark?: string;
}

/** Describes a new configuration: key by key, then the agents and slots that follow from it. Pure. */
export function describeConfig(seen: OnHost, desired: ManagerConfig): ConfigDescription {
  if (seen.digest === undefined) return { details: bounded(newConfig(desired, seen)) };
  const stored = seen.text === undefined ? undefined : readConfig(seen.text);
  if (stored !== undefined) return { details: bounded(changedConfig(stored, desired, seen)) };
  return {
    details: bounded(agentsOnly(seen, desired)),
    remark:
      seen.text === undefined
        ? 'the present manager.json is too long to compare'
        : 'the present manager.json is not a configuration',
  };
}

/** A key of the inventory with its value on the host, and the desired one; undefined: none. */
type ConfigKey = Pick<Item, 'key' | 'from' | 'to'>;

/** Returns the keys in which a manager.json differs, as the inventory names them; undefined: it is no configuration. Pure. */
export function configDrift(
  text: string | undefined,
  desired: ManagerConfig,
  gpus: number,
): readonly ConfigKey[] | undefined {
  const stored = text === undefined ? undefined : readConfig(text);
  const value = (said: string | undefined) =>
    said === undefined ? undefined : foreignLine(said, longestValue);
  return (
    stored &&
    compareConfigs(stored.config, desired, gpus).map(({ key, label, from, to }) => ({
      key: foreignLine(inventoryKeys[key] ?? dotted(label), longestValue),
      from: value(from),
      to: value(to),
    }))
  );
}

/** Characters of a key or value in a list of differences. */
const longestValue = 200;

/** Keys of the inventory for those of manager.json whose label in a plan is none. */
const inventoryKeys: Readonly<Record<string, string>> = {
  host: 'hosts',
  'image.top.folder': 'dockerfile',
  'image.top.push': 'dockerfile.push',
  metricsPort: 'metricsPort',
};

const lists: Readonly<Record<string, string>> = {
  slot: 'agents',
  dataset: 'datasets',
  capability: 'capabilities',
};

/** `slot big limits.cpus` → `agents.big.limits.cpus` */
function dotted(label: string): string {
  const [first = '', ...rest] = label.split(' ');
  return [lists[first] ?? first, ...rest].join('.');
}

/** Shows keys that differ from the defaults, and the agents. */
function newConfig(desired: ManagerConfig, seen: OnHost): readonly Detail[] {
  const { fence: _, idle: __, connectivityCheck: ___, ...rest } = desired;
  const plain: ManagerConfig = {
    ...rest,
    agents: desired.agents.kind === 'slots' ? { kind: 'slots', slots: [] } : desired.agents,
    limits: {},
    datasets: [],
    jobs: { sudo: false, docker: false },
    registration: 'rest',
    capabilities: {},
  };
  const items = compareConfigs(plain, desired, seen.gpus).map((each) => ({ ...each, from: undefined }));
  return [
    ...details(items),
    ...memoryDetails(undefined, desired, seen),
    ...agentDetails([], agentsOf(desired, seen.gpus)),
  ];
}

function changedConfig(stored: StoredConfig, desired: ManagerConfig, seen: OnHost): readonly Detail[] {
  const { config: before, unknown } = stored;
  const items = compareConfigs(before, desired, seen.gpus).map((each) =>
    unknown.includes(each.key.split('.', 1)[0] ?? '') ? { ...each, from: each.from ?? unknownValue } : each,
  );
  const unknownKeys = unknown
    .filter((key) => !isConfigKey(key))
    .map((key) => ({ key, label: key, from: unknownValue }));
  const lines = [...details([...items, ...unknownKeys]), ...consequences(stored, desired, seen)];
  return lines.length > 0
    ? lines
    : [{ marker: 'change', text: 'the same values in another order or spacing' }];
}

function consequences(
  { config, unknown }: StoredConfig,
  desired: ManagerConfig,
  seen: OnHost,
): readonly Detail[] {
  const { gpus } = seen;
  const { host, organization, pool } = config;
  if (unknown.some(isConfigKey) || host === undefined || organization === undefined || pool === undefined)
    return agentsOnly(seen, desired);
  const { credential, image } = desired;
  const before = { credential, image, ...configDefaults, ...config, host, organization, pool };
  const kept = organization === desired.organization ? agentsOf(before, gpus) : [];
  return [
    ...gpuDetails(before, desired, gpus),
    ...memoryDetails(before, desired, seen),
    ...agentDetails(kept, agentsOf(desired, gpus)),
    ...slotDetails(before, desired, seen),
  ];
}

/** Compares the agents with those in the manager's status. */
function agentsOnly({ status, gpus }: OnHost, desired: ManagerConfig): readonly Detail[] {
  return status === undefined ? [] : agentDetails(agentsNow(status), agentsOf(desired, gpus));
}

function compareConfigs(before: Partial<ManagerConfig>, after: ManagerConfig, gpus: number): readonly Item[] {
  return compare(configView(before, after, gpus), configView(after, before, gpus), keyTexts);
}

/**
 * Returns the configuration as a plan compares it with the other one: `agents` as in the inventory, with each slot where
 * one of both lists its slots, and without empty values.
 */
function configView(
  config: Partial<ManagerConfig>,
  other: Partial<ManagerConfig>,
  gpus: number,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(config).flatMap(([key, value]): (readonly [string, unknown])[] => {
    if (key === 'agents') return agentEntries(config, other, gpus);
    if (key === 'image') return [[key, imageView(config.image, other.image)]];
    if (key === 'proxy') return [[key, proxyView(config.proxy)]];
    return [[key, value]];
  });
  const isEmpty = (value: unknown) =>
    value === undefined || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value)));
}

function agentEntries(
  { agents, ...config }: Partial<ManagerConfig>,
  other: Partial<ManagerConfig>,
  gpus: number,
): (readonly [string, unknown])[] {
  if (agents === undefined) return [];
  const lists = [agents, other.agents].filter((each) => each?.kind === 'slots').length;
  const slots = slotSpecs({ ...configDefaults, ...config, agents }, gpus);
  return [
    ...(lists === 2 ? [] : [['agents', agentsText(agents)] as const]),
    ...(lists === 0 ? [] : [['slots', slots] as const]),
  ];
}

/** Leaves out the digest of another version of the agent, and the version in its address. */
function imageView(image: ImageConfig | undefined, other: ImageConfig | undefined): unknown {
  if (image?.kind === 'registry') return { kind: image.kind, reference: imageText(image) };
  if (image === undefined) return undefined;
  const { agentUrl, agentVersion } = image;
  const [base = '', ...rest] = agentUrl.split(`/agent/${agentVersion}/`);
  const isSameAgent = other?.kind === 'build' && other.agentVersion === agentVersion;
  return {
    ...image,
    agentSha256: isSameAgent ? image.agentSha256 : undefined,
    agentUrl: rest.length === 1 ? base : agentUrl,
  };
}

function proxyView(proxy: ManagerConfig['proxy'] | undefined): unknown {
  if (proxy === undefined) return undefined;
  const { ca, caSha256, noProxy, ...addresses } = proxy;
  return {
    ...addresses,
    noProxy: noProxy.length === 0 ? undefined : noProxy,
    ca: ca ? `certificates with sha256 ${caSha256?.slice(0, 12) ?? 'unknown'}` : undefined,
  };
}

function agentsText(agents: Agents): string {
  if (agents.kind === 'one-per-gpu') return 'one per GPU';
  if (agents.kind === 'count') return String(agents.count);
  return listed(agents.slots.map((slot, index) => `slot ${slot.name ?? index}`));
}

/** Shows a slot; capabilities only where they differ from the default. */
function slotText(slot: SlotSpec): string {
  const capabilities = listed(slot.capabilities);
  return [
    slot.gpus.length === 0 ? 'no GPU' : `GPUs ${gpusText(slot.gpus)}`,
    ...(slot.share ? ['shared'] : []),
    ...Object.entries(slot.limits).map(([name, value]) => `${name} ${value}`),
    ...(capabilities === listed(configDefaults.driverCapabilities) ? [] : [`capabilities ${capabilities}`]),
    ...(slot.mode === 'host' ? ['mode host'] : []),
    ...(slot.pool === undefined ? [] : [`pool ${slot.pool}`]),
    ...(slot.image === undefined ? [] : [`image ${slot.image}`]),
  ].join(', ');
}

function gpusText(gpus: SlotSpec['gpus']): string {
  return gpus.length === 0 ? 'none' : listed(gpus);
}

function datasetText({ host, container, requireMount }: Dataset): string {
  return `${host} at ${container}${requireMount ? ', a mount point' : ''}`;
}

function credentialText(credential: ManagerConfig['credential']): string {
  if (credential.kind === 'pat') return 'personal access token';
  if (credential.kind === 'managed-identity') {
    const by = credential.arc === true ? ' by Azure Arc' : '';
    return `identity of the machine${credential.clientId === undefined ? '' : ` ${credential.clientId}`}${by}`;
  }
  const { clientId, tenantId, authority, proof, tokenFile } = credential;
  const by =
    proof === undefined
      ? ''
      : proof === 'certificate'
        ? ' with a certificate'
        : ` with the token in ${tokenFile}`;
  return `service principal ${clientId} of ${tenantId}${authority === undefined ? '' : ` at ${authority}`}${by}`;
}

function imageText(image: ImageConfig): string {
  if (image.kind === 'registry')
    return image.builtBy === undefined ? image.reference : `${image.reference}, built by ${image.builtBy}`;
  const top = image.top === undefined ? '' : `, ${image.top.name} on top`;
  return `built here with agent ${image.agentVersion}${top}`;
}

/** Shortens a digest. */
function short(digest: string): string {
  return digest === '' ? 'unknown' : digest.slice(0, 12);
}

/** Shows seconds exactly, as minutes where possible. */
function timeText(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
