import type { AzureClient } from '../../shared/azure/client.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { mayBecome } from '../inventory/pool-pattern.ts';
import { knownPools } from '../steps/pool-names.ts';
import type { ApplyTools } from './apply-tools.ts';
import type { EventSink } from './events.ts';
import type { FleetSurvey } from './fleet-survey.ts';
import { applyFleetPools, planFleetPools } from './pools.ts';

/**
 * What has pools ready whose names were not known when the plan was made: each is made once for all hosts, as a pool
 * that was announced by name is, and only where its pattern was announced.
 */
export function latePools(
  client: AzureClient,
  { hosts, pools }: Pick<FleetSurvey, 'hosts' | 'pools'>,
  projects: readonly string[],
  emit: EventSink,
): NonNullable<ApplyTools['poolsReady']> {
  const before = new Set(hosts.flatMap(({ host, facts }) => knownPools(host, facts)));
  const patterns = pools.changes.flatMap(({ action }) =>
    action.kind === 'name-later' ? [action.pattern] : [],
  );
  const made = new Map<string, Promise<Problem | undefined>>();
  const make = async (name: string): Promise<Problem | undefined> => {
    const plan = await planFleetPools(client, [name], projects);
    const problem = (await applyFleetPools(client, plan, emit)).blocked.get(name);
    if (problem !== undefined) emit({ kind: 'problem', problem });
    return problem;
  };
  return async (host, facts) => {
    for (const name of knownPools(host, facts).filter((each) => !before.has(each))) {
      if (!patterns.some((pattern) => mayBecome(pattern, name))) throw notAnnounced(host.name, name);
      const making = made.get(name) ?? make(name);
      made.set(name, making);
      const problem = await making;
      if (problem !== undefined) throw new FleetError({ ...problem, host: host.name });
    }
  };
}

function notAnnounced(host: string, pool: string): FleetError {
  return new FleetError({
    code: 'plan.not-announced',
    host,
    step: 'manager',
    what: `stopped before the manager starts: its agents would go to pool ${pool}, which was not announced`,
    next: 'run it again without a saved plan, to see the new plan and agree to it',
  });
}
