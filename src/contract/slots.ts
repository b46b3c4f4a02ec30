import type { HostSpec } from '../inventory/fleet.ts';

/** Names of the slots of a host, as far as they are known before its GPUs have been counted. */
export function slotNames(host: Pick<HostSpec, 'agents' | 'gpus'>): string[] {
  const { agents } = host;
  if (agents.kind === 'slots') return agents.slots.map((slot, index) => slot.name ?? String(index));
  const count = agents.kind === 'count' ? agents.count : (host.gpus ?? 1);
  return Array.from({ length: count }, (_, index) => String(index));
}

/** The agent's name in the pool. */
export function agentName(host: Pick<HostSpec, 'name' | 'agentName'>, slot: string): string {
  return host.agentName.replaceAll('{host}', host.name).replaceAll('{slot}', slot);
}
