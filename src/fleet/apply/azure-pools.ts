import type { AzureClient, Pool } from '../../shared/azure/client.ts';
import { requireProject } from '../../shared/azure/pools/overview.ts';
import { FleetError } from '../../shared/base/errors.ts';
import type { FleetChange } from '../plan/pools.ts';

/** Carries out one change. Done already, only announced, or a manager's to do: does nothing. */
export async function applyFleetChange(client: AzureClient, { action }: FleetChange): Promise<void> {
  if (action.kind === 'name-later' || action.kind === 'take-over') return;
  if (action.kind === 'create-pool') {
    await client.ensurePool(action.pool);
    return;
  }
  const pool = await requirePool(client, action.pool);
  if (action.kind === 'disable-auto-update') {
    await client.setPoolAutoUpdate(pool.id, false);
    return;
  }
  const project = await requireProject(client, action.project);
  const queue =
    project.queues.find(({ poolId }) => poolId === pool.id) ??
    (await client.createQueue(action.project, pool));
  if (action.kind === 'authorize-queue') await client.authorizeQueue(action.project, queue.id);
}

async function requirePool(client: AzureClient, name: string): Promise<Pool> {
  const pool = await client.findPool(name);
  if (pool !== undefined) return pool;
  throw new FleetError({
    code: 'azure.pool-missing',
    step: 'pool',
    what: `agent pool ${name} does not exist`,
    next: `run "azp-fleet pool create ${name}", or provision again`,
  });
}
