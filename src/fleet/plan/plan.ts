import type { Facts } from '../facts/facts.ts';
import { factsDigest } from './digest.ts';
import type { FleetPlan, HostPlan } from './fleet-plan.ts';
import { useIncluded } from '../steps/bundle/plan.ts';
import { type Change, reboots, type Refusal, type Shape } from '../steps/change.ts';
import { withNewerVersions } from '../steps/newer.ts';
import { refinePackages, type Simulated, type Simulation, simulationOf } from '../steps/packages/refine.ts';
import type { Desired, Planned, Step } from '../steps/step.ts';

export interface PlanOptions {
  readonly steps: readonly Step[];
  /** Other users' containers, GPU processes and logins may be disturbed. */
  readonly disturbOthers: boolean;
}

/**
 * Plans the missing changes on one host, in order. Pure: the same facts, answers and desired state give the same plan. `said`: the
 * answers of its package manager; undefined: the plan is only shown, not applied.
 */
export function planHost(facts: Facts, desired: Desired, options: PlanOptions, said?: Simulated): HostPlan {
  const found = refinePackages(missing(facts, desired, options), said, facts);
  const plan = planOf(facts, desired.host.name, found, options.disturbOthers);
  return said === undefined || Object.keys(said.answers).length === 0
    ? plan
    : { ...plan, packages: said.answers };
}

/** Returns the question for its package manager before it is planned; undefined: the known answers suffice. Pure. */
export function questionFor(
  facts: Facts,
  desired: Desired,
  options: PlanOptions,
  known: Simulated['answers'],
): Simulation | undefined {
  return simulationOf(missing(facts, desired, options), facts, desired, known);
}

function missing(facts: Facts, desired: Desired, { steps }: PlanOptions): (Planned | Refusal)[] {
  const raised = withNewerVersions(facts, desired);
  return useIncluded(
    steps.flatMap((step) => [...step.plan(facts, raised)]),
    facts,
    raised,
  );
}

/** Returns the plan of these changes on one host, with what prevents them. Pure. */
export function planOf(
  facts: Facts,
  host: string,
  found: readonly (Planned | Refusal)[],
  disturbOthers: boolean,
): HostPlan {
  const planned = found.filter((item): item is Planned => !isRefusal(item));
  const refusals = found.filter(isRefusal);
  if (!disturbOthers) refusals.push(...refuseDisturbingOthers(facts, planned));
  return {
    host,
    factsDigest: factsDigest(facts),
    stages: stagesOf(planned),
    refusals: refusals.map(({ step, what, next }) => ({ step, what, next })),
  };
}

/** Tells whether the plan has no changes and no refusals. */
export function isEmpty(plan: HostPlan): boolean {
  return plan.stages.length === 0 && plan.refusals.length === 0;
}

/** Tells whether there are changes, in Azure DevOps or on a host. */
export function hasChanges(plan: FleetPlan): boolean {
  return plan.fleet.length > 0 || plan.hosts.some(({ stages }) => stages.length > 0);
}

/** Returns the changes that can run now; none if the plan begins with a shape. */
export function firstStage(plan: HostPlan): readonly Change[] {
  return (plan.stages[0] ?? []).filter((item) => item.known);
}

/**
 * Splits changes into stages. A stage ends where facts must be read again: before a shape, and after a reboot. What follows a shape
 * stays behind it, because the order of the steps matters.
 */
function stagesOf(planned: readonly (Change | Shape)[]): (Change | Shape)[][] {
  const stages: (Change | Shape)[][] = [];
  let open: (Change | Shape)[] | undefined;
  for (const item of planned) {
    if (open === undefined || (!item.known && open.some(({ known }) => known))) stages.push((open = []));
    open.push(item);
    if (!item.known || reboots(item)) open = undefined;
  }
  return stages;
}

function isRefusal(item: Planned | Refusal): item is Refusal {
  return 'refused' in item;
}

/** Refuses changes that would disturb other users' work, and names that work. Agents of the fleet are drained instead. */
function refuseDisturbingOthers(facts: Facts, changes: readonly (Change | Shape)[]): Refusal[] {
  return changes.flatMap((change) => {
    const victims = victimsOf(facts, change);
    if (victims.length === 0) return [];
    return {
      refused: true as const,
      step: change.step,
      what: `"${change.title}" would disturb work of others: ${victims.join('; ')}`,
      next: 'wait for it to finish, or run again with --disturb-others',
    };
  });
}

function victimsOf(facts: Facts, { disturbs }: Change | Shape): string[] {
  const { containers, gpuProcesses, logins } = facts.others;
  if (disturbs === 'containers') return named(['container', 'containers'], containers);
  if (disturbs !== 'machine') return [];
  return [
    ...named(['container', 'containers'], containers),
    ...named(['GPU process', 'GPU processes'], gpuProcesses),
    ...named(['login', 'logins'], logins),
  ];
}

function named([one, many]: readonly [string, string], names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [`${names.length === 1 ? one : many} ${names.join(', ')}`];
}
