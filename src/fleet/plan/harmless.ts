import type { GatheredFacts } from '../facts/facts.ts';
import type { Change, Shape } from '../steps/change.ts';
import type { FleetChange } from './pools.ts';
import type { HostPlan } from './fleet-plan.ts';
import { deviations, withoutNewWaits } from './refine.ts';
import { leftDrained } from './wave-fleet.ts';

/** The part of a host's plan that `--only-harmless` applies, and the changes that it leaves, in order. */
export interface HarmlessPart {
  readonly plan: HostPlan;
  readonly left: readonly (Change | Shape)[];
}

/**
 * Returns the stages before the first one with a change that disturbs or is not known yet. That stage is left whole, and so are all
 * after it, because the order is all that a plan knows of what a change needs. `announced`: the part that was shown; a stage with
 * another change is left, too. A host that an interrupted run left drained is left: its agents would be drained to prove it. Pure.
 */
export function harmlessPart(whole: HostPlan, facts: GatheredFacts, announced?: HostPlan): HarmlessPart {
  const plan = announced === undefined ? whole : withoutNewWaits(whole, announced);
  const isApplied = (stage: HostPlan['stages'][number]): boolean =>
    stage.every(isHarmless) &&
    (announced === undefined || deviations({ ...plan, stages: [stage] }, announced).length === 0);
  const end = plan.stages.findIndex((stage) => !isApplied(stage));
  const most = leftDrained(facts, 'provision') ? 0 : end === -1 ? plan.stages.length : end;
  return {
    plan: { ...plan, stages: plan.stages.slice(0, most) },
    left: plan.stages.slice(most).flat(),
  };
}

/** A restart of dockerd is not harmless: for a moment no container can start. */
function isHarmless(change: Change | Shape): boolean {
  return change.kind === 'change' && change.disturbs === 'nothing';
}

/** Tells whether `--only-harmless` makes a change to Azure DevOps. A take-over disconnects another machine. Pure. */
export function isHarmlessInAzure({ action }: FleetChange): boolean {
  return action.kind !== 'take-over' && action.kind !== 'name-later';
}
