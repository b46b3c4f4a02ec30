import type { Dataset, ManagerConfig } from '../../../shared/contract/config.ts';
import { item, itemsByName, listed, type Item } from '../told/items.ts';
import { imageItems } from './image-words.ts';
import { agentItems, limitItems, type Around } from './slot-words.ts';

/** What is said when a key becomes another; nothing where it stays. Undefined: it is not there. Pure. */
type Words<K extends keyof ManagerConfig> = (
  from: ManagerConfig[K] | undefined,
  to: ManagerConfig[K] | undefined,
  around: Around,
) => readonly Item[];

/** Every key of the configuration in words, with what follows for jobs and for the host. */
export const keyWords: { readonly [K in keyof ManagerConfig]-?: Words<K> } = {
  schema: (from, to) => item('schema', from, to),
  host: (from, to) => item('name of the host', from, to),
  organization: (from, to) =>
    item('organization', from, to, from && `agents that are registered in ${from} are not removed there`),
  credential: (from, to) => item('credential', from && credentialText(from), to && credentialText(to)),
  pool: (from, to) => item('pool', from, to),
  agents: (_from, _to, around) => agentItems(around),
  share: (from, to) => item('share', from, to, to === true ? 'agents take turns on GPUs' : undefined),
  gpus: (from, to) => item('gpus', from, to),
  ignoredGpus: (from, to) => item('gpus.ignore', hosts(from), hosts(to), 'slots are numbered without them'),
  agentName: (from, to) => item('agentName', from, to),
  limits: (from, to) => limitItems('limits', from, to),
  driverCapabilities: (from, to) => item('driverCapabilities', from?.join(', '), to?.join(', ')),
  image: imageItems,
  datasets: (from = [], to = []) => itemsByName(byName(from), byName(to), datasetItems),
  jobs: (from, to) => [
    ...item('jobs.sudo', from?.sudo, to?.sudo, sudoEffect[to?.sudo === true ? 'on' : 'off']),
    ...item('jobs.docker', from?.docker, to?.docker, dockerEffect[to?.docker === true ? 'on' : 'off']),
  ],
  fence: (from, to) => item('network', from, to, fenceEffect[to ?? 'best-effort']),
  registration: (from, to) => item('registration', from, to, to && registrationEffect[to]),
  capabilities: (from = {}, to = {}) =>
    itemsByName(new Map(Object.entries(from)), new Map(Object.entries(to)), (name, old, now) =>
      item(`capability ${name}`, old, now),
    ),
  proxy: (from, to) => [
    ...item('proxy.http', from?.http, to?.http),
    ...item('proxy.https', from?.https, to?.https),
    ...item('proxy.noProxy', hosts(from?.noProxy), hosts(to?.noProxy)),
    ...item('proxy.ca', from && authority(from), to && authority(to)),
  ],
  webhook: (from, to) => [
    ...item('webhook', from && 'set', to && 'set', webhookEffect[to === undefined ? 'off' : 'on']),
    ...item('webhook.offline', from && `${from.offlineS} s`, to && `${to.offlineS} s`),
    ...item('webhook.queueWait', from && `${from.queueWaitS} s`, to && `${to.queueWaitS} s`),
  ],
  idle: (from, to) => [
    ...item(
      'idle.after',
      from && timeText(from.afterS),
      to && timeText(to.afterS),
      idleEffect[to ? 'on' : 'off'],
    ),
    ...item('idle.run', from?.run, to?.run),
  ],
  metricsPort: (from, to) => item('port of the metrics', from && port(from), to && port(to)),
};

const idleEffect = {
  on: 'then the machine ends; jobs that run or wait, logins and containers of others keep it on',
  off: 'it stays on, used or not',
} as const;

/** Of seconds; no two have the same text. */
function timeText(seconds: number): string {
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

const webhookEffect = {
  on: 'it is told of closed slots, agents that are away and long waits; no job is disturbed',
  off: 'nobody is told of closed slots, agents that are away and long waits any more',
} as const;
const sudoEffect = {
  on: 'jobs may become root inside their container',
  off: 'jobs do not become root any more',
} as const;
const dockerEffect = {
  on: "jobs may use Docker's socket: root on this host",
  off: "jobs do not reach Docker's socket any more",
} as const;
const fenceEffect = {
  'best-effort': 'jobs run also while the fence cannot be put up',
  required: 'no job starts while the fence is not up',
} as const;
const registrationEffect = {
  rest: 'the token comes near no container',
  config: "the agent's config.sh gets the token, in a container without a job",
} as const;

function credentialText(credential: ManagerConfig['credential']): string {
  if (credential.kind === 'pat') return 'a personal access token';
  const { clientId, tenantId, authority: where } = credential;
  return `service principal ${clientId} of ${tenantId}${where === undefined ? '' : ` at ${where}`}`;
}

function datasetItems(name: string, old: Dataset | undefined, now: Dataset | undefined): readonly Item[] {
  const effect =
    now === undefined
      ? 'jobs do not find it any more'
      : old === undefined
        ? 'slots wait while its folder is missing or empty'
        : undefined;
  return item(`dataset ${name}`, old && datasetText(old), now && datasetText(now), effect);
}

function byName(datasets: readonly Dataset[]): ReadonlyMap<string, Dataset> {
  return new Map(datasets.map((dataset) => [dataset.name, dataset]));
}

function datasetText({ host, container, requireMount }: Dataset): string {
  return `${host} at ${container}${requireMount ? ', a mount point' : ''}`;
}

/** An empty list is no setting. */
function hosts(names: readonly string[] | undefined): string | undefined {
  return names === undefined || names.length === 0 ? undefined : listed(names);
}

function authority({ ca, caSha256 }: ManagerConfig['proxy']): string | undefined {
  return ca ? `certificates with sha256 ${caSha256?.slice(0, 12) ?? 'unknown'}` : undefined;
}

function port(number: number): string {
  return number === 0 ? 'none' : String(number);
}
