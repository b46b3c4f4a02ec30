import type { AzureAgent } from '../../shared/azure/client.ts';
import { Capabilities } from '../../shared/contract/paths.ts';

/** An agent that is nobody's is removed when it has been so for this long, in two looks at least. */
const patienceMs = 3 * 60_000;

/** Agent id → the look at which it was first seen without a slot; monotonic. */
export type Orphans = ReadonlyMap<number, number>;

/**
 * Agents of ours in the pool for which this host has no slot any more: offline, without a job. Pure; `scaled` is the
 * patience as it passes on the clock; `now` when the agents were looked at.
 */
export function sweep(
  agents: Iterable<AzureAgent>,
  ours: { readonly owner: string; readonly names: ReadonlySet<string> },
  before: Orphans,
  now: number,
  scaled: (ms: number) => number = (ms) => ms,
): { readonly remove: readonly AzureAgent[]; readonly orphans: Orphans } {
  const found = [...agents].filter(
    (agent) =>
      agent.userCapabilities?.[Capabilities.owner] === ours.owner &&
      !ours.names.has(agent.name.toLowerCase()) &&
      agent.status === 'offline' &&
      agent.assignedRequest === undefined,
  );
  const orphans = new Map(found.map((agent) => [agent.id, before.get(agent.id) ?? now]));
  const remove = found.filter((agent) => now - (before.get(agent.id) ?? now) >= scaled(patienceMs));
  return { remove, orphans };
}
