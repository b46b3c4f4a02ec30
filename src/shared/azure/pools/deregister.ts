import { FleetError } from '../../base/errors.ts';
import { Capabilities } from '../../contract/paths.ts';
import type { AzureClient } from '../client.ts';

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
