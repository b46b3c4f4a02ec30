import type { Clock } from '../../base/machine/clock.ts';
import type { AzureClient } from '../client.ts';
import { confirmed, leftovers, ownersOf, type Leftover, type OwnNames } from './garbage.ts';

/** Two looks this far apart must agree: an agent between two jobs is offline for a moment. */
const pruneGapMs = 3 * 60_000;

export interface PoolLeftovers {
  readonly pool: string;
  readonly poolId: number;
  readonly hosts: readonly OwnNames[];
  readonly found: readonly Leftover[];
}

/** A pool with what hosts may have in it. */
export interface PoolNames {
  readonly pool: string;
  readonly hosts: readonly OwnNames[];
  /** Hosts of which no slot is in this pool now, but may have been: each also stands among `hosts` of another pool. */
  readonly visitors: readonly OwnNames[];
}

/** One look at several pools; those that do not exist are left out. */
export async function findLeftovers(
  client: AzureClient,
  pools: readonly PoolNames[],
): Promise<readonly PoolLeftovers[]> {
  const looks = await Promise.all(pools.map((each) => look(client, each)));
  const seen = looks.filter((each) => each !== undefined);
  const owners = new Map<string, Set<string>>();
  for (const { hosts, agents } of seen)
    for (const { host, wanted } of hosts)
      owners.set(host, new Set([...(owners.get(host) ?? []), ...ownersOf(agents, wanted ?? new Set())]));
  return seen.map(({ id, name, agents, hosts, visitors }) => {
    const guests = visitors.map((each) => ({ ...each, owners: owners.get(each.host) ?? new Set<string>() }));
    const all = [...hosts, ...guests];
    return { pool: name, poolId: id, hosts: all, found: leftovers(agents, all) };
  });
}

async function look(client: AzureClient, { pool, ...names }: PoolNames) {
  const found = await client.findPool(pool);
  return found && { ...names, id: found.id, name: found.name, agents: await everyAgent(client, found.id) };
}

/** With its last job: one that has run another by the second look is alive. */
function everyAgent(client: AzureClient, poolId: number) {
  return client.listAgents(poolId, { lastCompleted: true });
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
    const again = leftovers(await everyAgent(client, poolId), hosts);
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
