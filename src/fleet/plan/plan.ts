import type { Facts, GatheredFacts, UnknownFact } from '../facts/facts.ts';
import { UnreadFact, unreadObstacle, unreadOf, withoutUnread } from '../facts/unread.ts';
import { factsDigest } from './digest.ts';
import type { FleetPlan, HostPlan } from './fleet-plan.ts';
import { useIncluded } from '../steps/bundle/plan.ts';
import { type Action, type Change, reboots, type Refusal, refusal, type Shape } from '../steps/change.ts';
import { withNewerVersions } from '../steps/newer.ts';
import { listed } from '../steps/description.ts';
import { atMost } from '../steps/disturbance.ts';
import { withoutOwnersPackages } from '../steps/packages/node.ts';
import { refinePackages, type Simulated, type Simulation, simulationOf } from '../steps/packages/refine.ts';
import type { Desired, Planned, Step } from '../steps/step.ts';

export interface PlanOptions {
  readonly steps: readonly Step[];
  /** Other users' containers, GPU processes and logins may be disturbed. */
  readonly disturbOthers: boolean;
}

/**
 * Plans the missing changes on one host, in order. Pure: the same facts, answers and desired state give the same plan. `said`: the
 * answers of its package manager; undefined: the plan is only shown, not applied. Where a step reads an unknown fact, the host is
 * not changed.
 */
export function planHost(
  facts: GatheredFacts,
  desired: Desired,
  options: PlanOptions,
  said?: Simulated,
): HostPlan {
  const { name } = desired.host;
  try {
    const known = withoutUnread(facts);
    const found = refinePackages(missing(known, desired, options), said, known);
    const plan = planOf(facts, name, found, options.disturbOthers);
    return said === undefined || Object.keys(said.answers).length === 0
      ? plan
      : { ...plan, packages: said.answers };
  } catch (error) {
    if (!(error instanceof UnreadFact)) throw error;
    const { refusals, unread } = refusalsOf(facts, desired, options);
    return incompletePlan(facts, name, refusals, new Set([...error.facts, ...unread]));
  }
}

/**
 * Returns the plan with each script and text to upload as `known` has it, which gains new ones: most hosts of a fleet get the same,
 * and a thousand copies of a few kilobytes count.
 */
export function withSharedTexts(plan: HostPlan, known: Map<string, string>): HostPlan {
  const shared = (text: string): string => {
    const before = known.get(text);
    if (before === undefined) known.set(text, text);
    return before ?? text;
  };
  const ofAction = (action: Action): Action => {
    if (action.kind === 'run') return { ...action, script: shared(action.script) };
    if (action.kind !== 'upload' || action.artifact.kind !== 'text') return action;
    return { ...action, artifact: { ...action.artifact, text: shared(action.artifact.text) } };
  };
  const stages = plan.stages.map((stage) =>
    stage.map((each) => (each.kind === 'change' ? { ...each, actions: each.actions.map(ofAction) } : each)),
  );
  return { ...plan, stages };
}

/** Returns what the steps refuse without the unknown facts, and which of these they read. */
function refusalsOf(
  facts: GatheredFacts,
  desired: Desired,
  { steps }: PlanOptions,
): { readonly refusals: readonly Refusal[]; readonly unread: readonly UnknownFact[] } {
  const unread: UnknownFact[] = [];
  const known = withoutUnread(facts);
  const tried = <T>(work: () => T, otherwise: T): T => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof UnreadFact)) throw error;
      unread.push(...error.facts);
      return otherwise;
    }
  };
  const raised = tried(() => withNewerVersions(known, desired), desired);
  const refusals = steps.flatMap((step) => tried(() => [...step.plan(known, raised)].filter(isRefusal), []));
  return { refusals, unread };
}

/** Returns the plan of a host that is not changed because these facts are unknown. */
export function incompletePlan(
  facts: GatheredFacts,
  host: string,
  refusals: readonly Refusal[],
  unread: ReadonlySet<UnknownFact>,
  otherwise?: string,
): HostPlan {
  const { what, next } = unreadObstacle([...unread], otherwise);
  return planOf(facts, host, [refusal('facts', what, next), ...refusals], true);
}

/** Returns the question for its package manager before it is planned; undefined: the known answers suffice. Pure. */
export function questionFor(
  facts: GatheredFacts,
  desired: Desired,
  options: PlanOptions,
  known: Simulated['answers'],
): Simulation | undefined {
  try {
    const read = withoutUnread(facts);
    return simulationOf(missing(read, desired, options), read, desired, known);
  } catch (error) {
    if (error instanceof UnreadFact) return undefined;
    throw error;
  }
}

function missing(facts: Facts, desired: Desired, { steps }: PlanOptions): (Planned | Refusal)[] {
  const raised = withNewerVersions(facts, desired);
  const found = steps.flatMap((step) => [...step.plan(facts, raised)]);
  return useIncluded(withoutOwnersPackages(found, facts), facts, raised);
}

/** Returns the plan of these changes on one host, with what prevents them. Pure. */
export function planOf(
  facts: GatheredFacts,
  host: string,
  found: readonly (Planned | Refusal)[],
  disturbOthers: boolean,
): HostPlan {
  const planned = found.filter((item): item is Planned => !isRefusal(item));
  const refusals = found.filter(isRefusal);
  // A change of an earlier run may still be in progress.
  const unseen = planned.length === 0 ? [] : unreadOf(facts, 'changes');
  if (unseen.length > 0) return incompletePlan(facts, host, refusals, new Set(unseen));
  if (!disturbOthers) refusals.push(...refuseDisturbingOthers(withoutUnread(facts), planned));
  return {
    host,
    factsDigest: factsDigest(facts),
    stages: stagesOf(planned),
    refusals: refusals.map(({ step, what, next }) => ({ step, what, next })),
    ...(facts.unknown.length === 0 ? {} : { unknown: facts.unknown }),
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
  return (plan.stages[0] ?? []).filter((item) => item.kind === 'change');
}

/**
 * Splits changes into stages. A stage ends where facts must be read again: before a shape, and after a reboot. What follows a shape
 * stays behind it, because the order of the steps matters.
 */
function stagesOf(planned: readonly (Change | Shape)[]): (Change | Shape)[][] {
  const stages: (Change | Shape)[][] = [];
  let open: (Change | Shape)[] | undefined;
  for (const item of planned) {
    if (open === undefined || (item.kind === 'shape' && open.some(({ kind }) => kind === 'change')))
      stages.push((open = []));
    open.push(item);
    if (item.kind === 'shape' || reboots(item)) open = undefined;
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
    const nodes = facts.orchestrators.map(({ name }) => name);
    return {
      refused: true as const,
      step: change.step,
      what: `"${change.title}" would disturb work of others: ${victims.join('; ')}`,
      next:
        nodes.length === 0
          ? 'wait for it to finish, or run again with --disturb-others'
          : `drain this host in ${nodes.join(' and ')}, then run again with --disturb-others`,
    };
  });
}

function victimsOf(facts: Facts, { disturbs }: Change | Shape): string[] {
  if (atMost(disturbs, 'agents')) return [];
  const { containers, elsewhere, gpuProcesses, logins } = facts.others;
  return [
    ...facts.orchestrators.map(nodeWork),
    ...named(['container', 'containers'], containers),
    ...(disturbs === 'containers'
      ? []
      : [
          ...named(['GPU process', 'GPU processes'], gpuProcesses),
          ...(elsewhere.length === 0 ? [] : [listed(elsewhere, mostNamed)]),
        ]),
    ...(disturbs === 'machine' ? named(['login', 'logins'], logins) : []),
  ];
}

/** Most pods, jobs and foreign containers by name; a node has hundreds. */
const mostNamed = 8;

/** `Kubernetes (kubelet.service) with pod default/train-0` */
function nodeWork({ name, units, running, work }: Facts['orchestrators'][number]): string {
  const states = [...units, ...(running ? [] : ['not running, starts at boot'])];
  const where = states.length === 0 ? '' : ` (${states.join(', ')})`;
  return `${name}${where}${work.length === 0 ? '' : ` with ${listed(work, mostNamed)}`}`;
}

function named([one, many]: readonly [string, string], names: readonly string[]): string[] {
  if (names.length === 0) return [];
  return [`${names.length === 1 ? one : many} ${names.join(', ')}`];
}
