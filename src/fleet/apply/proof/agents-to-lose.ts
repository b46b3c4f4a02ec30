import { FleetError } from '../../../shared/base/errors.ts';
import type { AzureClient } from '../../../shared/azure/client.ts';
import { findAgents } from '../../../shared/azure/pools/agents.ts';
import { agentsOf, poolsInUse } from '../../../shared/contract/status.ts';
import { leftDrained } from '../../plan/waves/agents.ts';
import { needsDrain } from '../../plan/refine.ts';
import type { AgentsIn, PoolAgents } from '../../verdict/sight.ts';
import type { Survey } from '../survey.ts';

/**
 * The server's view of hosts that are proven in waves, before they are changed: what is wrong already is not blamed on the
 * change. A pool that cannot be listed is undefined.
 */
export async function agentsToLose(
  hosts: readonly Pick<Survey, 'facts' | 'plan'>[],
  client: Pick<AzureClient, 'findPool' | 'listAgents' | 'findAgent'>,
): Promise<AgentsIn> {
  const judged = hosts.filter(({ facts, plan }) => needsDrain(plan.stages.flat()) || leftDrained(facts));
  const pools = new Set(
    judged.flatMap(({ facts: { manager } }) =>
      manager.status === undefined ? [] : poolsInUse(manager.status),
    ),
  );
  const listed = await Promise.all(
    [...pools].map(async (pool): Promise<readonly [string, PoolAgents]> => {
      try {
        const found = await client.findPool(pool);
        const asked = judged.flatMap(({ facts: { manager } }) =>
          manager.status === undefined ? [] : [agentsOf(manager.status, pool)],
        );
        const agents = found === undefined ? [] : await findAgents(client, found, asked);
        return [pool, new Map(agents.map((agent) => [agent.name, agent]))];
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        return [pool, undefined];
      }
    }),
  );
  const views = new Map(listed);
  return (pool) => views.get(pool);
}
