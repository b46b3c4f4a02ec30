import type { AzureClient } from '../../shared/azure/client.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import { defined } from '../../shared/base/objects.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { agentsOf, poolsInUse } from '../../shared/contract/status.ts';
import type { Verdict } from '../../shared/health/verdict.ts';
import { statusOf } from '../facts/unread.ts';
import type { HostSpec, WaveLimits } from '../inventory/fleet.ts';
import { foldNames } from '../inventory/fold-names.ts';
import { isEmpty } from '../plan/plan.ts';
import { judge } from '../verdict/judge.ts';
import type { AgentsIn } from '../verdict/host-view.ts';
import { type ApplyHostOptions, finishHost } from './apply-host.ts';
import type { ApplyTools } from './apply-tools.ts';
import type { EventSink } from './events.ts';
import type { FleetSurvey } from './fleet-survey.ts';
import { takeOverNames } from './held-names.ts';
import { type HostOutcome, interruptionLine } from './outcome.ts';
import { type PoolLists, poolLists } from './pool-lists.ts';
import { latePools, applyFleetPools, distinct, type PoolsPlan } from './pools.ts';
import { proofOf } from './prove.ts';
import type { HostsSurvey, Survey } from './survey.ts';
import { runWaves, type InWaves, blockedOf, wavesOf } from './waves.ts';

interface ApplyFleetOptions extends Pick<ApplyHostOptions, 'exactFacts' | 'onlyHarmless'> {
  /** Prove each host afterwards; with `onlyHarmless` each that gets changes. */
  readonly probe: boolean;
  /** All hosts of the inventory, which are the members of the pools. */
  readonly inventory: readonly HostSpec[];
  readonly limits: WaveLimits;
  /** Projects whose pipelines may use the pools. */
  readonly projects: readonly string[];
  /** The user confirmed the announced take-overs of agents' names. */
  readonly adopt: boolean;
  /** Called with the pools that cannot be used, before any host is changed. */
  readonly onPools: (pools: PoolsPlan) => void;
}

/**
 * Applies a plan: the fleet part once, then the hosts, in waves if their agents are drained. Hosts of a pool that cannot be used get
 * everything but the manager.
 */
export async function applyFleet(
  survey: FleetSurvey,
  client: AzureClient,
  tools: ApplyTools,
  { probe, inventory, limits, projects, adopt, onPools, exactFacts, onlyHarmless }: ApplyFleetOptions,
): Promise<readonly HostOutcome[]> {
  tools.emit({ kind: 'phase', phase: 'apply' });
  const pools = await applyFleetPools(client, survey.pools, tools.emit);
  onPools(pools);
  const known = new Set(distinct(survey.pools.blocked).map(({ what }) => what));
  for (const problem of distinct(pools.blocked))
    if (!known.has(problem.what)) tools.emit({ kind: 'problem', problem });
  const lists = poolLists(client, tools.clock);
  // They are proven at once.
  if (probe && onlyHarmless !== true)
    for (const { facts } of survey.hosts.filter(({ plan }) => isEmpty(plan))) expectAgents(lists, facts);
  const poolsReady = latePools(client, survey, projects, tools.emit);
  const agreed = new Set(adopt ? survey.pools.changes.map(({ id }) => id) : []);
  const names = { client, held: survey.held, agreed };
  const fleet = wavesOf(inventory, { ...survey, pools }, { command: tools.command, proven: probe });
  return applyHosts(survey, { fleet, limits }, tools, (host) =>
    finishHost(
      host,
      { ...tools, poolsReady },
      {
        exactFacts,
        ...defined({ onlyHarmless }),
        blocked: blockedOf(host, pools.blocked),
        takeNames: () => takeOverNames(host, names, tools),
        ...(probe && (onlyHarmless !== true || host.plan.stages.length > 0)
          ? { proof: proofOf(host, lists, tools) }
          : {}),
      },
    ),
  );
}

function expectAgents(lists: PoolLists, facts: Survey['facts']): void {
  const status = valueOf(statusOf(facts));
  if (status === undefined) return;
  for (const pool of poolsInUse(status)) lists.expect(pool, agentsOf(status, pool));
}

/** Finishes every host and closes its connection. Hosts that failed in the survey come last. */
export async function applyHosts(
  { hosts, failures, agentsIn = () => undefined }: HostsSurvey & Partial<Pick<FleetSurvey, 'agentsIn'>>,
  waves: InWaves,
  tools: ApplyTools,
  finish: (host: Survey) => Promise<HostOutcome>,
): Promise<readonly HostOutcome[]> {
  const tasks = hosts.map((host) => ({
    host: host.host.name,
    builder: host.host.dockerfile?.builder,
    before: lastVerdict(host, agentsIn, tools),
    work: async () => {
      const outcome = await finish(host);
      reportEnd(outcome, tools.emit);
      await host.connection.close();
      return outcome;
    },
  }));
  const outcomes = await runWaves(tasks, waves, tools);
  reportNotBegun(outcomes, tools.emit);
  await Promise.all(hosts.map(({ connection }) => connection.close()));
  tools.emit({ kind: 'phase', phase: 'done' });
  return [...outcomes, ...failures];
}

/** Returns the verdict by the facts of the survey. */
function lastVerdict(
  { host, facts }: Survey,
  agentsIn: AgentsIn,
  { log }: Pick<ApplyTools, 'log'>,
): Verdict | undefined {
  const now = Date.parse(valueOf(statusOf(facts))?.at ?? '');
  try {
    return judge({ host: host.name, facts, agentsIn, now }).verdict;
  } catch (error) {
    // The verdict stays unknown: applying the plan reports the problem.
    hostProblem(host.name, error, log);
    return undefined;
  }
}

/** Reports the end of a host. A problem that several hosts share is reported once, elsewhere. */
function reportEnd(outcome: HostOutcome, emit: EventSink): void {
  const { host, problem, verdict, changes, interrupted } = outcome;
  const shared = problem?.step === 'pool' || isNotBegun(outcome);
  if (problem !== undefined && !shared) emit({ kind: 'problem', problem });
  const bad = verdict !== undefined && verdict.state !== 'healthy' ? verdict : undefined;
  const cut = outcome.state === 'skipped' ? interruptionLine(changes, interrupted) : undefined;
  const text = problem?.what ?? cut ?? (bad === undefined ? undefined : `${bad.state}: ${bad.cause}`);
  const state = bad !== undefined && bad.state !== 'degraded' ? 'failed' : outcome.state;
  emit({ kind: 'host-state', host, state, ...(text === undefined ? {} : { text }) });
}

/** Reports hosts that were not begun; hosts with the same reason share one problem. */
function reportNotBegun(outcomes: readonly HostOutcome[], emit: EventSink): void {
  const left = outcomes.filter(isNotBegun);
  for (const outcome of left) reportEnd(outcome, emit);
  const alike = Map.groupBy(left, ({ problem }) => JSON.stringify([problem?.what, problem?.next]));
  for (const same of alike.values()) {
    const problem = same[0]?.problem;
    const host = foldNames(same.map((each) => each.host));
    if (problem !== undefined) emit({ kind: 'problem', problem: { ...problem, host } });
  }
}

function isNotBegun({ problem }: HostOutcome): boolean {
  return problem?.code === 'wave.stopped' || problem?.code === 'wave.held';
}
