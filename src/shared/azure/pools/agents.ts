import pLimit from 'p-limit';

import { sha256 } from '../../base/digest.ts';
import { FleetError } from '../../base/errors.ts';
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

/**
 * The owner mark of the agents that an installation registers. It changes with the machine-id: a cloned disk owns nothing
 * of what its original registered. `installation`: made at the manager's first start.
 */
export function ownerId(machineId: string, installation: string): string {
  return sha256(`${machineId}:${installation}`).slice(0, 32);
}

type Client = Pick<AzureClient, 'findPool' | 'listAgents' | 'deleteAgent'>;

/**
 * Deletes every agent that carries the owner's mark from these pools; one that is gone, or a pool that is, is no mistake.
 * Rejects with `remove.agent-busy` where the server says that one runs a job. The agents' names that were deleted.
 */
export async function deregister(
  client: Client,
  { owner, pools }: { readonly owner: string; readonly pools: readonly string[] },
): Promise<readonly string[]> {
  const deleted: string[] = [];
  for (const name of pools) {
    const pool = await client.findPool(name);
    if (pool === undefined) continue;
    // Some servers do not look at marks, and list the whole pool.
    const agents = await client.listAgents(pool.id, { owner });
    for (const agent of agents.filter((each) => each.userCapabilities?.[Capabilities.owner] === owner)) {
      if (!(await client.deleteAgent(pool.id, agent.id))) throw busy(agent.name, name);
      deleted.push(agent.name);
    }
  }
  return deleted;
}

function busy(agent: string, pool: string): FleetError {
  return new FleetError({
    code: 'remove.agent-busy',
    step: 'pool',
    what: `Azure DevOps still counts a job as running on ${agent} in pool ${pool}`,
    next: 'wait until the pool shows the job as ended, or cancel it there, and run the same command again',
  });
}
