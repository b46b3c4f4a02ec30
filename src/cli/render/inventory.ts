import { Document, isMap, isScalar } from 'yaml';

import { agentName, poolsOf, slotNames } from '../../shared/contract/slots.ts';
import type { Fleet, HostSpec } from '../../fleet/inventory/fleet.ts';
import { count } from './lines.ts';
import { columns } from './table.ts';

/** Returns a table with a line for each host: address, pool, agents, and what `--limit` accepts. */
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

/** Returns the address as far as the inventory has it; the rest is in ssh_config. */
function address({ name, ssh: { user, address, port } }: HostSpec): string {
  return `${user === undefined ? '' : `${user}@`}${address ?? name}${port === undefined ? '' : `:${port}`}`;
}

function agents({ agents, gpus, share }: HostSpec): string {
  if (agents.kind === 'one-per-gpu') return gpus === undefined ? 'one per GPU' : `${gpus}, one per GPU`;
  if (agents.kind === 'slots') return String(agents.slots.length);
  return `${agents.count}${share ? ', shared GPUs' : ''}`;
}

/** Returns `3 hosts, 1 pool, …`. */
export function fleetSummary(fleet: Fleet): string {
  const pools = new Set(fleet.hosts.flatMap(poolsOf)).size;
  return `${count(fleet.hosts.length, 'host')}, ${count(pools, 'pool')}, ${fleet.organization}`;
}

/** Returns the agent names as far as they follow from the inventory. */
export function agentNames(host: HostSpec): string[] {
  if (host.agents.kind === 'one-per-gpu' && host.gpus === undefined) return [agentName(host, '<gpu>')];
  return slotNames(host).map((slot) => agentName(host, slot));
}

/** Returns a host as YAML with all defaults; `connection` is undefined if it is unknown. */
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
