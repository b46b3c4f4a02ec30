import { Document, isMap, isScalar } from 'yaml';

import { agentName, poolsOf, slotNames } from '../../shared/contract/slots.ts';
import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { columns } from './table.ts';

/** One line for each host: what `--limit` can name, and where it leads. */
export function hostTable(hosts: readonly HostSpec[], width: number): string[] {
  const rows = hosts.map((host) => [
    host.name,
    address(host),
    poolsOf(host).join(', '),
    agents(host),
    host.groups.join(', ') || '-',
    Object.entries(host.labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(', ') || '-',
  ]);
  return columns([['HOST', 'ADDRESS', 'POOL', 'AGENTS', 'GROUPS', 'LABELS'], ...rows], width);
}

/** What is not said by the inventory is ssh_config's to say. */
function address({ name, ssh: { user, address, port } }: HostSpec): string {
  return `${user === undefined ? '' : `${user}@`}${address ?? name}${port === undefined ? '' : `:${port}`}`;
}

function agents({ agents, gpus, share }: HostSpec): string {
  if (agents.kind === 'one-per-gpu') return gpus === undefined ? 'one per GPU' : `${gpus}, one per GPU`;
  if (agents.kind === 'slots') return String(agents.slots.length);
  return `${agents.count}${share ? ', shared GPUs' : ''}`;
}

/** `3 hosts, 1 pool, …` */
export function fleetSummary(fleet: Fleet): string {
  const pools = new Set(fleet.hosts.flatMap(poolsOf)).size;
  return `${count(fleet.hosts.length, 'host')}, ${count(pools, 'pool')}, ${fleet.organization}`;
}

/** `1 host`, `3 hosts`. */
export function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? '' : 's'}`;
}

/** Names of the agents as far as the inventory alone tells them. */
export function agentNames(host: HostSpec): string[] {
  if (host.agents.kind === 'one-per-gpu' && host.gpus === undefined) return [agentName(host, '<gpu>')];
  return slotNames(host).map((slot) => agentName(host, slot));
}

/** One host as YAML, every default filled in; `connection` undefined: it is not known. */
export function hostYaml(host: HostSpec, connection: object | undefined): string {
  const { name, ...rest } = host;
  const shown = { [name]: { ...rest, agentNames: agentNames(host) }, ...(connection ? { connection } : {}) };
  const document = new Document(shown);
  const settings = document.get(name);
  const keys = isMap(settings) ? settings.items.map(({ key }) => key).filter(isScalar) : [];
  const limits = keys.find(({ value }) => value === 'limits');
  if (host.limits.memory === undefined && limits !== undefined) limits.commentBefore = sharedMemory;
  return document.toString({ lineWidth: 0 });
}

const sharedMemory = " memory: an equal part of the host's, as plan and status show";
