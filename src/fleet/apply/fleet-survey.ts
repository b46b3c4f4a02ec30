import type { AzureClient } from '../../shared/azure/client.ts';
import { findAgents } from '../../shared/azure/pools/agents.ts';
import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { timestamp, type Clock } from '../../shared/base/clock.ts';
import type { DrainCommand } from '../../shared/contract/drain.ts';
import { agentsOf, poolsInUse } from '../../shared/contract/status.ts';
import { statusOf } from '../facts/unread.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import { plainPools } from '../inventory/pool-pattern.ts';
import { inventoryDigest } from '../plan/digest.ts';
import type { FleetPlan, WavesPlan } from '../plan/fleet-plan.ts';
import { planTakeOvers, refusedTakeOvers, type HeldNames } from '../plan/held-names.ts';
import { planLaterPools } from '../plan/pools.ts';
import { needsDrain } from '../plan/refine.ts';
import { leftDrained } from '../plan/wave-fleet.ts';
import { knownPools, laterPools } from '../steps/pool-names.ts';
import type { AgentsIn, PoolAgents } from '../verdict/host-view.ts';
import type { ApplyTools, TokenRights } from './apply-tools.ts';
import { findHeldNames } from './held-names.ts';
import { distinct, planFleetPools, type PoolsPlan } from './pools.ts';
import {
  planReached,
  reachHosts,
  type HostsSurvey,
  type Reached,
  type ReachOptions,
  type Survey,
} from './survey.ts';

/** The state of the fleet before anything is changed. */
export interface FleetSurvey extends HostsSurvey {
  readonly pools: PoolsPlan;
  /** Agent names of the hosts that another owner has. */
  readonly held: readonly HeldNames[];
  /** The server's view of the agents that may be removed. */
  readonly agentsIn: AgentsIn;
  /** Rights that the token on the hosts lacks. */
  readonly lackedRights: readonly Problem[];
}

/** A survey with the pools, or of a command that needs none. */
export type AnySurvey = HostsSurvey & Partial<Pick<FleetSurvey, 'pools' | 'held' | 'lackedRights'>>;

interface SurveyOptions extends ReachOptions {
  /** Called with the pools that cannot be used, before any host is planned. */
  readonly onPools: (pools: PoolsPlan) => void;
}

/** Reads all hosts and Azure DevOps at the same time, then pools whose names depend on facts, then plans. */
export async function surveyFleet(
  fleet: Fleet,
  hosts: readonly HostSpec[],
  client: AzureClient,
  tools: ApplyTools,
  options: SurveyOptions,
): Promise<FleetSurvey> {
  const plain = plainPools(hosts);
  const [first, results] = await Promise.all([
    planFleetPools(client, plain, fleet.projects),
    reachHosts(hosts, tools, options),
  ]);
  const reached = results.filter((each) => 'facts' in each);
  const named = reached.flatMap(({ host, facts }) => knownPools(host, facts));
  const rest = await planFleetPools(
    client,
    named.filter((name) => !plain.includes(name)),
    fleet.projects,
  );
  const [{ held, ...names }, rights = noGaps] = await Promise.all([
    findHeldNames(client, reached, tools.clock),
    reached.length === 0 ? undefined : tools.checkToken?.(reached),
  ]);
  const refused = rights.isNew ? rights.gaps : noGaps.gaps;
  const lackedRights = rights.isNew ? [] : lackedIn(rights.gaps);
  const pools = {
    changes: [
      ...first.changes,
      ...rest.changes,
      ...planLaterPools(waiting(reached)),
      ...planTakeOvers(held),
    ].filter(({ action }) => !refused.has(action.kind === 'name-later' ? action.pattern : action.pool)),
    blocked: new Map([...refused, ...names.blocked, ...first.blocked, ...rest.blocked]),
  };
  options.onPools(pools);
  for (const problem of [...distinct(pools.blocked), ...lackedRights, ...refusedTakeOvers(held)])
    tools.emit({ kind: 'problem', problem });
  const planned = await planReached(results, tools);
  const agentsIn = await agentsToLose(planned.hosts, client, tools.command);
  return { ...planned, pools, held, agentsIn, lackedRights };
}

const noGaps: TokenRights = { gaps: new Map(), isNew: false };

/** Returns the lacked rights of a token that the hosts have. Other problems are those of its pools. */
function lackedIn(gaps: TokenRights['gaps']): readonly Problem[] {
  return distinct(gaps).filter(({ code }) => code === 'azure.permission');
}

/** Returns pool patterns that need an installed driver → hosts. */
function waiting(reached: readonly Reached[]): ReadonlyMap<string, readonly string[]> {
  const later = reached.flatMap(({ host, facts }) =>
    laterPools(host, facts).map((pattern) => ({ pattern, host: host.name })),
  );
  const hosts = Map.groupBy(later, ({ pattern }) => pattern);
  return new Map([...hosts].map(([pattern, each]) => [pattern, each.map(({ host }) => host)]));
}

/** Returns the number of hosts and the pools that the survey could not read. */
export function unreadIn({ failures, pools }: AnySurvey): { hosts: number; pools: readonly string[] } {
  return { hosts: failures.length, pools: [...(pools?.blocked.keys() ?? [])] };
}

/** Returns the survey as the plan that is shown, saved and applied. `waves`: in which agents are drained. */
export function toFleetPlan(
  fleet: Fleet,
  survey: AnySurvey,
  made: { version: string; clock: Clock; waves: WavesPlan | undefined },
): FleetPlan {
  return {
    schema: 1,
    version: made.version,
    at: timestamp(made.clock),
    inventory: fleet.file,
    inventoryDigest: inventoryDigest(fleet),
    fleet: survey.pools?.changes ?? [],
    hosts: survey.hosts.map(({ plan }) => plan),
    ...defined({ waves: made.waves }),
  };
}

export async function closeAll(survey: HostsSurvey): Promise<void> {
  await Promise.all(survey.hosts.map(({ connection }) => connection.close()));
}

/** Reads the server's view of hosts that are proven in waves. */
async function agentsToLose(
  hosts: readonly Pick<Survey, 'facts' | 'plan'>[],
  client: Pick<AzureClient, 'findPool' | 'listAgents' | 'findAgent'>,
  command: DrainCommand,
): Promise<AgentsIn> {
  const judged = hosts.filter(
    ({ facts, plan }) => needsDrain(plan.stages.flat()) || leftDrained(facts, command),
  );
  return agentsBefore(judged, client);
}

/**
 * Reads the server's view of hosts before they are changed: an existing problem is not blamed on the change. A pool that cannot be
 * listed is undefined.
 */
export async function agentsBefore(
  hosts: readonly Pick<Survey, 'facts'>[],
  client: Pick<AzureClient, 'findPool' | 'listAgents' | 'findAgent'>,
): Promise<AgentsIn> {
  const reports = hosts.flatMap(({ facts }) => valueOf(statusOf(facts)) ?? []);
  const pools = new Set(reports.flatMap(poolsInUse));
  const listed = await Promise.all(
    [...pools].map(async (pool): Promise<readonly [string, PoolAgents]> => {
      try {
        const found = await client.findPool(pool);
        const asked = reports.map((status) => agentsOf(status, pool));
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
