import pLimit from 'p-limit';
import { Capabilities } from '../../contract/paths.ts';
import type { AzureAgent, AzureClient, Pool } from '../client.ts';

/** Agents that are asked about together. */
export interface AgentsOf {
  /** Whoever has them is meant. */
  readonly names: readonly string[];
  /** The mark that most of them carry, where it is known. */
  readonly owner?: string;
}

/** A pool so small is listed whole, whoever is asked about. */
const smallPool = 100;
/** A pool is listed whole where so much of it is asked about. */
const wholeFrom = 1 / 4;
/** Calls under way at the same time. */
const parallel = 4;

/** Whether one list of the whole pool is cheaper than a call for each owner: less than four times as much to read. Pure. */
export function isListedWhole({ size }: Pick<Pool, 'size'>, wanted: readonly AgentsOf[]): boolean {
  const names = new Set(wanted.flatMap((each) => each.names));
  // A server that does not tell it is an old one, with as many agents as such a one can bear.
  return size === undefined || size <= smallPool || names.size >= size * wholeFrom;
}

/** The agents under these names, and others where they come without a further call. */
export async function findAgents(
  client: Pick<AzureClient, 'listAgents' | 'findAgent'>,
  pool: Pick<Pool, 'id' | 'size'>,
  wanted: readonly AgentsOf[],
): Promise<readonly AzureAgent[]> {
  const asked = wanted.filter(({ names }) => names.length > 0);
  if (asked.length === 0) return [];
  if (isListedWhole(pool, asked)) return client.listAgents(pool.id);
  const found = new Map<number, AzureAgent>();
  const limit = pLimit(parallel);
  let isWhole = false;
  const find = async ({ names, owner }: AgentsOf): Promise<void> => {
    const marked = isWhole || owner === undefined ? [] : await client.listAgents(pool.id, { owner });
    // A server that does not look at marks has listed all there is, once for all.
    isWhole ||= marked.some((agent) => agent.userCapabilities?.[Capabilities.owner] !== owner);
    for (const agent of marked) found.set(agent.id, agent);
    const known = new Set([...found.values()].map(({ name }) => name.toLowerCase()));
    for (const name of isWhole ? [] : names.filter((each) => !known.has(each.toLowerCase()))) {
      const agent = await client.findAgent(pool.id, name);
      if (agent !== undefined) found.set(agent.id, agent);
    }
  };
  await Promise.all(asked.map((each) => limit(() => find(each))));
  return [...found.values()];
}
