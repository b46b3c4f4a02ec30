import { FleetError } from '../../base/errors.ts';
import { poolsInUse } from '../../contract/status.ts';
import { leftDrained } from '../../plan/waves/agents.ts';
import { needsDrain } from '../../plan/refine.ts';
import type { AgentsIn, PoolAgents } from '../../verdict/sight.ts';
import type { PoolLists } from './pool-lists.ts';
import type { Survey } from '../survey.ts';

/**
 * The server's view of hosts that are proven in waves, before they are changed: what is wrong already is not blamed on the
 * change. A pool that cannot be listed is undefined.
 */
export async function agentsToLose(
  hosts: readonly Pick<Survey, 'facts' | 'plan'>[],
  lists: PoolLists,
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
        return [pool, await lists.of(pool)];
      } catch (error) {
        if (!(error instanceof FleetError)) throw error;
        return [pool, undefined];
      }
    }),
  );
  const views = new Map(listed);
  return (pool) => views.get(pool);
}
