import type { AzureAgent, AzureClient } from '../../azure/client.ts';
import type { Clock } from '../../base/machine/clock.ts';

/** Agents change state in the pool this much later than on the host, and all hosts of a pool ask about it. */
const freshMs = 2000;

type Listing = ReadonlyMap<string, AzureAgent>;

export interface PoolLists {
  /** The pool's agents as they are now, by name. */
  of(pool: string): Promise<Listing>;
}

/** One list call per pool and two seconds, however many hosts wait for their agents. */
export function poolLists(client: AzureClient, clock: Clock): PoolLists {
  const known = new Map<string, { readonly at: number; readonly listing: Promise<Listing> }>();
  const list = async (name: string): Promise<Listing> => {
    const pool = await client.findPool(name);
    const agents = pool === undefined ? [] : await client.listAgents(pool.id);
    return new Map(agents.map((agent) => [agent.name, agent]));
  };
  return {
    of: (pool) => {
      const last = known.get(pool);
      if (last !== undefined && clock.monotonic() - last.at < freshMs) return last.listing;
      const listing = list(pool);
      known.set(pool, { at: clock.monotonic(), listing });
      return listing;
    },
  };
}
