import type { AzureClient } from '../azure/client.ts';
import { timestamp, type Clock } from '../base/machine/clock.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import type { FleetPlan } from '../plan/fleet-plan.ts';
import { inventoryDigest } from '../plan/digest.ts';
import type { HostOutcome } from './outcome.ts';
import { distinct, planFleetPools, type PoolsPlan } from './pools.ts';
import { failed, planNow, reachHosts, type Reached, type ReachOptions, type Survey } from './survey.ts';
import type { ApplyTools } from './apply-tools.ts';

/** Everything that is known before anything is changed. */
export interface FleetSurvey {
  readonly hosts: readonly Survey[];
  /** Hosts that could not be reached or read. */
  readonly failures: readonly HostOutcome[];
  readonly pools: PoolsPlan;
}

export interface SurveyOptions extends ReachOptions {
  /** Called when it is known which pools cannot be used, before any host is planned. */
  readonly onPools: (pools: PoolsPlan) => void;
}

/** Reads all hosts at the same time, and Azure DevOps beside them; then plans. */
export async function surveyFleet(
  fleet: Fleet,
  hosts: readonly HostSpec[],
  client: AzureClient,
  tools: ApplyTools,
  options: SurveyOptions,
): Promise<FleetSurvey> {
  const [pools, results] = await Promise.all([
    planFleetPools(
      client,
      hosts.map(({ pool }) => pool),
      fleet.projects,
    ),
    reachHosts(hosts, tools, options),
  ]);
  options.onPools(pools);
  for (const problem of distinct(pools.blocked)) tools.emit({ kind: 'problem', problem });
  tools.emit({ kind: 'phase', phase: 'plan' });
  const planned = results.map((result) => ('facts' in result ? planReached(result, tools) : result));
  return {
    hosts: planned.filter((result): result is Survey => 'plan' in result),
    failures: planned.filter((result): result is HostOutcome => 'state' in result),
    pools,
  };
}

function planReached(reached: Reached, tools: ApplyTools): Survey | HostOutcome {
  try {
    return { ...reached, plan: planNow(reached.facts, reached.host, tools) };
  } catch (error) {
    return failed(reached.host, error, tools);
  }
}

/** What the survey is silent about: hosts, by their number, and pools. */
export function unreadIn({ failures, pools }: FleetSurvey): { hosts: number; pools: readonly string[] } {
  return { hosts: failures.length, pools: [...pools.blocked.keys()] };
}

/** The survey as the document that is shown, saved and applied. */
export function toFleetPlan(
  fleet: Fleet,
  survey: FleetSurvey,
  made: { version: string; clock: Clock },
): FleetPlan {
  return {
    schema: 1,
    version: made.version,
    at: timestamp(made.clock),
    inventory: fleet.file,
    inventoryDigest: inventoryDigest(fleet),
    fleet: survey.pools.changes,
    hosts: survey.hosts.map(({ plan }) => plan),
  };
}

export async function closeAll(survey: FleetSurvey): Promise<void> {
  await Promise.all(survey.hosts.map(({ connection }) => connection.close()));
}
