import pLimit from 'p-limit';

import { sha256 } from '../../base/digest.ts';
import { FleetError } from '../../base/errors.ts';
import { Capabilities } from '../../contract/paths.ts';
import type { AzureAgent, AzureClient, JobRequest, Pool } from '../client.ts';

/** Agents to find with one request where possible. */
export interface AgentsOf {
  /** Agent names of any owner. */
  readonly names: readonly string[];
  /** The owner id of most of them, if known. */
  readonly owner?: string;
}

/** A pool of at most this many agents is always listed whole. */
const smallPool = 100;
/** A pool is listed whole when at least this share of it is requested. */
const wholeFrom = 1 / 4;
/** Concurrent calls. */
const parallel = 4;

/** Whether one list of the whole pool is cheaper than a call for each owner. Pure. */
export function isListedWhole({ size }: Pick<Pool, 'size'>, requested: readonly AgentsOf[]): boolean {
  const names = new Set(requested.flatMap((each) => each.names));
  // A server that does not report the size is an old one with small pools.
  return size === undefined || size <= smallPool || names.size >= size * wholeFrom;
}

/** Returns the agents with these names, and others that came with the same answers. */
export async function findAgents(
  client: Pick<AzureClient, 'listAgents' | 'findAgent'>,
  pool: Pick<Pool, 'id' | 'size'>,
  requested: readonly AgentsOf[],
): Promise<readonly AzureAgent[]> {
  const nonEmpty = requested.filter(({ names }) => names.length > 0);
  if (nonEmpty.length === 0) return [];
  if (isListedWhole(pool, nonEmpty)) return client.listAgents(pool.id);
  const found = new Map<number, AzureAgent>();
  const limit = pLimit(parallel);
  let isWhole = false;
  const find = async ({ names, owner }: AgentsOf): Promise<void> => {
    const owned = isWhole || owner === undefined ? [] : await client.listAgents(pool.id, { owner });
    // A server that ignores the filter has listed the whole pool.
    isWhole ||= owned.some((agent) => agent.userCapabilities?.[Capabilities.owner] !== owner);
    for (const agent of owned) found.set(agent.id, agent);
    const known = new Set([...found.values()].map(({ name }) => name.toLowerCase()));
    for (const name of isWhole ? [] : names.filter((each) => !known.has(each.toLowerCase()))) {
      const agent = await client.findAgent(pool.id, name);
      if (agent !== undefined) found.set(agent.id, agent);
    }
  };
  await Promise.all(nonEmpty.map((each) => limit(() => find(each))));
  return [...found.values()];
}

/**
 * Returns the owner id of the agents that an installation registers. It depends on the machine-id: a cloned disk does not
 * own the agents of its original. `installation` is generated at the manager's first start.
 */
export function ownerId(machineId: string, installation: string): string {
  return sha256(`${machineId}:${installation}`).slice(0, 32);
}

/** The agents that an installation registered. */
export interface Owned {
  readonly owner: string;
  /** Names of the pools that may have them. */
  readonly pools: readonly string[];
}

/** An agent on which the server counts a job. */
export interface CountedJob {
  readonly pool: string;
  readonly agent: string;
  readonly request: JobRequest;
}

type Client = Pick<AzureClient, 'findPool' | 'listAgents' | 'deleteAgent'>;

/** Returns the jobs that the server counts on these agents, which it deletes only without one. A missing pool has none. */
export async function countedJobs(
  client: Omit<Client, 'deleteAgent'>,
  { owner, pools }: Owned,
): Promise<readonly CountedJob[]> {
  const found: CountedJob[] = [];
  for (const pool of pools)
    for (const { name: agent, assignedRequest: request } of (await ownAgents(client, owner, pool)).agents)
      if (request !== undefined) found.push({ pool, agent, request });
  return found;
}

/**
 * Deletes the agents; a missing agent or pool is no error. Rejects with `remove.agent-busy` when the server reports that an
 * agent runs a job. `stays`: instead gets each agent or pool that could not be deleted, with the reason.
 */
export async function deregister(
  client: Client,
  { owner, pools }: Owned,
  stays?: (what: string) => void,
): Promise<readonly string[]> {
  const deleted: string[] = [];
  for (const name of pools) {
    try {
      const { id, agents } = await ownAgents(client, owner, name);
      for (const agent of agents) {
        if (await client.deleteAgent(id, agent.id)) deleted.push(agent.name);
        else if (stays === undefined) throw busy(agent.name, name);
        else stays(`agent ${agent.name} in pool ${name}: the server still counts a job on it`);
      }
    } catch (error) {
      if (stays === undefined || !(error instanceof FleetError)) throw error;
      stays(`agents in pool ${name}: ${error.problem.what}`);
    }
  }
  return deleted;
}

/** Returns the owner's agents in a pool; none if there is no such pool. */
async function ownAgents(client: Omit<Client, 'deleteAgent'>, owner: string, poolName: string) {
  const pool = await client.findPool(poolName);
  if (pool === undefined) return { id: 0, agents: [] };
  const agents = await client.listAgents(pool.id, { owner });
  // Some servers ignore the filter and list the whole pool.
  return {
    id: pool.id,
    agents: agents.filter((each) => each.userCapabilities?.[Capabilities.owner] === owner),
  };
}

function busy(agent: string, pool: string): FleetError {
  return new FleetError({
    code: 'remove.agent-busy',
    step: 'pool',
    what: `the server still counts a job as running on agent ${agent} in pool ${pool}`,
    next: 'run the same command again when the pool shows the job as ended; it continues',
  });
}
