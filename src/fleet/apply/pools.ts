import type { AzureClient } from '../../shared/azure/client.ts';
import { readPoolState } from '../../shared/azure/pools/overview.ts';
import { planPools, type FleetChange } from '../plan/pools.ts';
import { applyFleetChange } from './azure-pools.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import type { EventSink } from './events.ts';

/** The fleet part of a plan, pool by pool: one pool that cannot be read or changed does not stop the others. */
export interface PoolsPlan {
  readonly changes: readonly FleetChange[];
  /** Pool → why its hosts cannot get a manager now. */
  readonly blocked: ReadonlyMap<string, Problem>;
}

export async function planFleetPools(
  client: AzureClient,
  pools: readonly string[],
  projects: readonly string[],
): Promise<PoolsPlan> {
  const blocked = new Map<string, Problem>();
  const changes = await Promise.all(
    [...new Set(pools)].map(async (pool) => {
      try {
        return planPools(await readPoolState(client, [pool], projects));
      } catch (error) {
        blocked.set(pool, problemOf(error));
        return [];
      }
    }),
  );
  return { changes: changes.flat(), blocked };
}

/** Makes the changes in order. A pool whose change fails is left alone from there on. */
export async function applyFleetPools(
  client: AzureClient,
  plan: PoolsPlan,
  emit: EventSink,
): Promise<PoolsPlan> {
  const blocked = new Map(plan.blocked);
  for (const change of plan.changes) {
    const { action, title } = change;
    if (action.kind === 'name-later' || action.kind === 'take-over') continue;
    if (blocked.has(action.pool)) continue;
    try {
      await applyFleetChange(client, change);
      emit({ kind: 'note', text: `Azure DevOps: ${title}: done` });
    } catch (error) {
      blocked.set(action.pool, problemOf(error));
    }
  }
  return { changes: plan.changes, blocked };
}

/** The distinct problems: a bad token is one problem, however many pools it concerns. */
export function distinct(blocked: ReadonlyMap<string, Problem>): Problem[] {
  return [
    ...new Map([...blocked.values()].map((problem) => [`${problem.code} ${problem.what}`, problem])).values(),
  ];
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof FleetError)) throw error;
  return error.at({ step: 'pool' }).problem;
}
