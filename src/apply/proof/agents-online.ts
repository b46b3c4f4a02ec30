import type { AzureClient } from '../../azure/client.ts';
import type { Clock } from '../../base/machine/clock.ts';

/** Agents change state in the pool this much later than on the host, and all hosts of a pool ask about it. */
const freshMs = 2000;

export interface AgentsOnline {
  /** Names of the agents that the pool shows online now. */
  of(pool: string): Promise<ReadonlySet<string>>;
}

/** One list call per pool and two seconds, however many hosts wait for their agents. */
export function agentsOnline(client: AzureClient, clock: Clock): AgentsOnline {
  const known = new Map<string, { readonly at: number; readonly names: Promise<ReadonlySet<string>> }>();
  const list = async (name: string): Promise<ReadonlySet<string>> => {
    const pool = await client.findPool(name);
    const agents = pool === undefined ? [] : await client.listAgents(pool.id);
    return new Set(agents.filter(({ status }) => status === 'online').map((agent) => agent.name));
  };
  return {
    of: (pool) => {
      const last = known.get(pool);
      if (last !== undefined && clock.monotonic() - last.at < freshMs) return last.names;
      const names = list(pool);
      known.set(pool, { at: clock.monotonic(), names });
      return names;
    },
  };
}
