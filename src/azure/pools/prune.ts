import type { Clock } from '../../base/machine/clock.ts';
import type { AzureClient } from '../client.ts';
import { confirmed, leftovers, type Leftover, type OwnNames } from './garbage.ts';

/** Two looks this far apart must agree: an agent between two jobs is offline for a moment. */
const pruneGapMs = 3 * 60_000;

export interface PoolLeftovers {
  readonly pool: string;
  readonly poolId: number;
  readonly hosts: readonly OwnNames[];
  readonly found: readonly Leftover[];
}

/** One look at a pool; undefined when there is no such pool. */
export async function findLeftovers(
  client: AzureClient,
  pool: string,
  hosts: readonly OwnNames[],
): Promise<PoolLeftovers | undefined> {
  const found = await client.findPool(pool);
  if (found === undefined) return undefined;
  const agents = await client.listAgents(found.id);
  return { pool: found.name, poolId: found.id, hosts, found: leftovers(agents, hosts) };
}

export interface Pruned {
  readonly pool: string;
  readonly agent: string;
  readonly removed: boolean;
  /** Why it was left, when it was. */
  readonly why?: string;
}

/** Waits, looks again, and removes what both looks found. The server refuses what has a job by then. */
export async function prune(
  client: AzureClient,
  first: readonly PoolLeftovers[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<readonly Pruned[]> {
  await clock.wait(pruneGapMs, signal);
  signal.throwIfAborted();
  const results: Pruned[] = [];
  for (const { pool, poolId, hosts, found } of first) {
    const again = leftovers(await client.listAgents(poolId), hosts);
    const sure = confirmed(found, again);
    for (const leftover of found) {
      const alive = !sure.includes(leftover);
      const removed = !alive && (await client.deleteAgent(poolId, leftover.id));
      const why = alive ? 'it was used meanwhile' : 'it is running a job';
      results.push({ pool, agent: leftover.name, removed, ...(removed ? {} : { why }) });
    }
  }
  return results;
}
