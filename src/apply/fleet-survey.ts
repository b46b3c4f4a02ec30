import type { AzureClient } from '../azure/client.ts';
import { timestamp, type Clock } from '../base/machine/clock.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import type { FleetPlan } from '../plan/fleet-plan.ts';
import { inventoryDigest } from '../plan/digest.ts';
import { distinct, planFleetPools, type PoolsPlan } from './pools.ts';
import { planReached, reachHosts, type HostsSurvey, type ReachOptions } from './survey.ts';
import type { ApplyTools } from './apply-tools.ts';

/** Everything that is known before anything is changed. */
export interface FleetSurvey extends HostsSurvey {
  readonly pools: PoolsPlan;
}

/** With the pools, or of commands that need none. */
export type AnySurvey = HostsSurvey & Partial<Pick<FleetSurvey, 'pools'>>;

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
  return { ...planReached(results, tools), pools };
}

/** What the survey is silent about: hosts, by their number, and pools. */
export function unreadIn({ failures, pools }: AnySurvey): { hosts: number; pools: readonly string[] } {
  return { hosts: failures.length, pools: [...(pools?.blocked.keys() ?? [])] };
}

/** The survey as the document that is shown, saved and applied. */
export function toFleetPlan(
  fleet: Fleet,
  survey: AnySurvey,
  made: { version: string; clock: Clock },
): FleetPlan {
  return {
    schema: 1,
    version: made.version,
    at: timestamp(made.clock),
    inventory: fleet.file,
    inventoryDigest: inventoryDigest(fleet),
    fleet: survey.pools?.changes ?? [],
    hosts: survey.hosts.map(({ plan }) => plan),
  };
}

export async function closeAll(survey: HostsSurvey): Promise<void> {
  await Promise.all(survey.hosts.map(({ connection }) => connection.close()));
}
