import type { AzureClient } from '../../shared/azure/client.ts';
import { defined } from '../../shared/base/objects.ts';
import { planFleetPools } from '../apply/pools.ts';
import { plainPools } from '../inventory/pool-pattern.ts';
import type { Observation } from '../status/row.ts';
import { poolsSeen } from '../status/collect.ts';
import type { PoolSeen } from './host-seen.ts';

/** Returns the pools of a host's agents: without facts those whose names need none. Pure. */
export function poolsOfHost(observation: Observation): readonly string[] {
  const names = observation.facts === undefined ? plainPools([observation.host]) : poolsSeen(observation);
  return [...new Set(names)];
}

/** Reads pools, their project queues and permissions, each pool by itself. Changes nothing. */
export async function readPools(
  client: AzureClient,
  names: readonly string[],
  projects: readonly string[],
): Promise<ReadonlyMap<string, PoolSeen>> {
  const pools = await Promise.all(names.map(async (name) => readPool(client, name, projects)));
  return new Map(pools.map((pool) => [pool.name, pool]));
}

async function readPool(client: AzureClient, name: string, projects: readonly string[]): Promise<PoolSeen> {
  const { changes, blocked } = await planFleetPools(client, [name], projects);
  const problem = blocked.get(name);
  if (problem?.code !== 'azure.project-missing') return { name, changes, ...defined({ problem }) };
  const alone = await readPool(client, name, []);
  return { ...alone, projectProblem: problem };
}
