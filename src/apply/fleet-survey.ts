import pLimit from 'p-limit';

import type { AzureClient } from '../azure/client.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import type { FleetPlan } from '../plan/fleet-plan.ts';
import { inventoryDigest } from '../plan/digest.ts';
import { failure, type HostOutcome } from './outcome.ts';
import { distinct, planFleetPools, type PoolsPlan } from './pools.ts';
import { planNow, reachHost, type Reached, type Survey } from './survey.ts';
import type { ApplyTools } from './apply-tools.ts';

/** Everything that is known before anything is changed. */
export interface FleetSurvey {
  readonly hosts: readonly Survey[];
  /** Hosts that could not be reached or read. */
  readonly failures: readonly HostOutcome[];
  readonly pools: PoolsPlan;
}

export interface SurveyOptions {
  /** Await changes of an earlier run that still go on. */
  readonly follow: boolean;
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
  tools.emit({ kind: 'phase', phase: 'facts' });
  const limit = pLimit(tools.options.parallel);
  const [pools, results] = await Promise.all([
    planFleetPools(
      client,
      hosts.map(({ pool }) => pool),
      fleet.projects,
    ),
    Promise.all(hosts.map((host) => limit(() => reach(host, tools, options)))),
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

async function reach(
  host: HostSpec,
  tools: ApplyTools,
  options: SurveyOptions,
): Promise<Reached | HostOutcome> {
  try {
    tools.signal.throwIfAborted();
    const reached = await reachHost(host, tools, options);
    tools.emit({ kind: 'host-state', host: host.name, state: 'planned' });
    return reached;
  } catch (error) {
    if (tools.signal.aborted) throw error;
    return failed(host, error, tools);
  }
}

function failed({ name }: HostSpec, error: unknown, tools: ApplyTools): HostOutcome {
  const outcome = failure(name, error, tools.log);
  if (outcome.problem !== undefined) tools.emit({ kind: 'problem', problem: outcome.problem });
  tools.emit({ kind: 'host-state', host: name, state: outcome.state });
  return outcome;
}

/** What the survey is silent about: hosts, by their number, and pools. */
export function unreadIn({ failures, pools }: FleetSurvey): { hosts: number; pools: readonly string[] } {
  return { hosts: failures.length, pools: [...pools.blocked.keys()] };
}

/** The survey as the document that is shown, saved and applied. */
export function toFleetPlan(
  fleet: Fleet,
  survey: FleetSurvey,
  made: { version: string; now: number },
): FleetPlan {
  return {
    schema: 1,
    version: made.version,
    at: new Date(made.now).toISOString(),
    inventory: fleet.file,
    inventoryDigest: inventoryDigest(fleet),
    fleet: survey.pools.changes,
    hosts: survey.hosts.map(({ plan }) => plan),
  };
}

export async function closeAll(survey: FleetSurvey): Promise<void> {
  await Promise.all(survey.hosts.map(({ connection }) => connection.close()));
}
