import pLimit from 'p-limit';

import type { AzureClient } from '../azure/client.ts';
import type { Problem } from '../base/errors.ts';
import { poolLists, type PoolLists } from './proof/pool-lists.ts';
import { applyHost, refused, type ApplyHostOptions } from './apply-host.ts';
import type { FleetSurvey } from './fleet-survey.ts';
import { interruptionLine } from './interruption.ts';
import { failure, interruptedOutcome, type HostOutcome } from './outcome.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import { knownPools } from '../steps/pool-names.ts';
import { isEmpty } from '../plan/plan.ts';
import { applyFleetPools, distinct, type PoolsPlan } from './pools.ts';
import { latePools } from './late-pools.ts';
import { takeOverNames, type TakeOver } from './names/take-over.ts';
import { proveHost } from './proof/prove.ts';
import type { HostsSurvey, Survey } from './survey.ts';
import type { ApplyTools } from './apply-tools.ts';

export interface ApplyFleetOptions extends ApplyHostOptions {
  /** Prove each host afterwards. */
  readonly probe: boolean;
  /** Whose pipelines may use the pools. */
  readonly projects: readonly string[];
  /** The announced take-overs of agents' names were agreed to. */
  readonly adopt: boolean;
  /** Called when it is known which pools cannot be used, before any host is changed. */
  readonly onPools: (pools: PoolsPlan) => void;
}

/**
 * Carries out a plan: the fleet part once, then every host by itself. One host's failure never stops another; a pool
 * that cannot be used costs its hosts only the manager.
 */
export async function applyFleet(
  survey: FleetSurvey,
  client: AzureClient,
  tools: ApplyTools,
  options: ApplyFleetOptions,
): Promise<readonly HostOutcome[]> {
  tools.emit({ kind: 'phase', phase: 'apply' });
  const pools = await applyFleetPools(client, survey.pools, tools.emit);
  options.onPools(pools);
  const known = new Set(distinct(survey.pools.blocked).map(({ what }) => what));
  for (const problem of distinct(pools.blocked))
    if (!known.has(problem.what)) tools.emit({ kind: 'problem', problem });
  const lists = poolLists(client, tools.clock);
  const poolsReady = latePools(client, survey, options.projects, tools.emit);
  const agreed = new Set(options.adopt ? survey.pools.changes.map(({ id }) => id) : []);
  const names = { client, held: survey.held, agreed };
  return applyHosts(survey, tools, (host) =>
    finishHost(host, { blocked: blockedOf(host, pools), lists, names }, { ...tools, poolsReady }, options),
  );
}

/** Why the host's manager cannot be had now, if so. */
function blockedOf({ host, facts }: Survey, { blocked }: PoolsPlan): Problem | undefined {
  return knownPools(host, facts)
    .map((pool) => blocked.get(pool))
    .find((problem) => problem !== undefined);
}

/** Applies plans, every host by itself, and closes its connection; those that failed before come last. */
export async function applyHosts(
  { hosts, failures }: HostsSurvey,
  tools: ApplyTools,
  finish: (host: Survey) => Promise<HostOutcome> = (host) => applyPlan(host, tools, { exactFacts: false }),
): Promise<readonly HostOutcome[]> {
  const limit = pLimit(tools.options.parallel);
  const outcomes = new Map<Survey, HostOutcome>();
  const apply = async (host: Survey): Promise<void> => {
    const outcome = await finish(host);
    settle(outcome, tools);
    await host.connection.close();
    outcomes.set(host, outcome);
  };
  // Others may wait for the image that one of these builds.
  const [builders, rest] = [hosts.filter(isBuilder), hosts.filter((host) => !isBuilder(host))];
  await Promise.all([...builders, ...rest].map((host) => limit(() => apply(host))));
  tools.emit({ kind: 'phase', phase: 'done' });
  return [...hosts.flatMap((host) => outcomes.get(host) ?? []), ...failures];
}

function isBuilder({ host }: Survey): boolean {
  return host.dockerfile?.builder === host.name;
}

/** What Azure DevOps has to do with the end of a host. */
interface InAzure {
  readonly blocked: Problem | undefined;
  readonly lists: PoolLists;
  readonly names: TakeOver;
}

async function finishHost(
  survey: Survey,
  { blocked, lists, names }: InAzure,
  tools: ApplyTools,
  options: ApplyFleetOptions,
): Promise<HostOutcome> {
  const { name } = survey.host;
  let changes: number | undefined;
  try {
    const left = blocked === undefined ? survey.plan : tools.plan(survey.facts, survey.host);
    const host = await applyPlan(survey, tools, options, left);
    if (host.state === 'failed' || host.state === 'skipped' || host.state === 'unreachable') return host;
    if (blocked !== undefined) return { ...host, state: 'failed', problem: { ...blocked, host: name } };
    changes = host.changes;
    const taken = await takeOverNames(survey, names, tools);
    changes += taken.changes;
    const applied = { ...host, changes, state: changes > 0 ? 'changed' : host.state } as const;
    if (taken.problem !== undefined) return { ...applied, state: 'failed', problem: taken.problem };
    if (!options.probe) return applied;
    const verdict = await proveHost(survey, lists, tools);
    tools.emit({ kind: 'verdict', host: name, verdict });
    return { ...applied, verdict };
  } catch (error) {
    if (!tools.signal.aborted) return failure(name, error, tools.log, changes);
    return changes === undefined
      ? interruptedOutcome(name, 0)
      : interruptedOutcome(name, changes, { during: 'proof' });
  }
}

/** `left`: what of the announced plan is possible now. */
async function applyPlan(
  survey: Survey,
  tools: ApplyTools,
  options: ApplyHostOptions,
  left: HostPlan = survey.plan,
): Promise<HostOutcome> {
  const { name } = survey.host;
  if (tools.signal.aborted) return interruptedOutcome(name, 0);
  const [refusal] = survey.plan.refusals;
  if (refusal !== undefined)
    return { host: name, state: 'failed', changes: 0, problem: refused(name, refusal) };
  return isEmpty(left) ? { host: name, state: 'ok', changes: 0 } : applyHost(survey, tools, options);
}

function settle(outcome: HostOutcome, tools: ApplyTools): void {
  const { host, problem, verdict, changes, interrupted } = outcome;
  const shared = problem?.step === 'pool';
  if (problem !== undefined && !shared) tools.emit({ kind: 'problem', problem });
  const unwell = verdict !== undefined && verdict.state !== 'healthy' ? verdict : undefined;
  const cut = outcome.state === 'skipped' ? interruptionLine(changes, interrupted) : undefined;
  const text =
    problem?.what ?? cut ?? (unwell === undefined ? undefined : `${unwell.state}: ${unwell.cause}`);
  const state = unwell !== undefined && unwell.state !== 'degraded' ? 'failed' : outcome.state;
  tools.emit({ kind: 'host-state', host, state, ...(text === undefined ? {} : { text }) });
}
