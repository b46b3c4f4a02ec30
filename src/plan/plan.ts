import type { Facts } from '../facts/facts.ts';
import type { Desired, Planned, Refusal, Step } from '../steps/step.ts';
import type { FleetPlan, HostPlan } from './fleet-plan.ts';
import { reboots, type Change, type Shape } from '../steps/change.ts';
import { factsDigest } from './digest.ts';
import { refuseDisturbingOthers } from './others.ts';

export interface PlanOptions {
  readonly steps: readonly Step[];
  /** Other people's containers, GPU processes and logins may be hurt. */
  readonly disturbOthers: boolean;
}

/** What is missing on one host, in order. Pure: the same facts and wishes give the same plan. */
export function planHost(facts: Facts, desired: Desired, { steps, disturbOthers }: PlanOptions): HostPlan {
  const found = steps.flatMap((step) => [...step.plan(facts, desired)]);
  return planOf(facts, desired.host.name, found, disturbOthers);
}

/** These changes on one host, with what stands in their way. Pure. */
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

/** Nothing to do and nothing in the way. */
export function isEmpty(plan: HostPlan): boolean {
  return plan.stages.length === 0 && plan.refusals.length === 0;
}

/** Something is pending, in Azure DevOps or on a host. */
export function hasChanges(plan: FleetPlan): boolean {
  return plan.fleet.length > 0 || plan.hosts.some(({ stages }) => stages.length > 0);
}

/** The changes that can run now. Empty when the plan begins with a shape. */
export function firstStage(plan: HostPlan): readonly Change[] {
  return (plan.stages[0] ?? []).filter((item) => item.known);
}

/**
 * A stage ends where facts have to be gathered again: before something that is not known yet, and after a reboot.
 * What follows a shape stays behind it, because the order of the steps matters.
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
