import type { ApplyTools } from '../../fleet/apply/apply-tools.ts';
import type { FleetSurvey } from '../../fleet/apply/fleet-survey.ts';
import type { HostPlan } from '../../fleet/plan/fleet-plan.ts';
import { harmlessPart, isHarmlessInAzure } from '../../fleet/plan/harmless.ts';
import type { FleetChange } from '../../fleet/plan/pools.ts';
import type { Change, Shape } from '../../fleet/steps/change.ts';
import { usageError } from '../../shared/base/errors.ts';
import type { Options } from '../options.ts';

/** The changes that `--only-harmless` leaves on one host, in order. */
export interface Left {
  readonly host: string;
  readonly changes: readonly (Change | Shape)[];
}

/** The plans of a run with `--only-harmless`, and what they leave. */
export class HarmlessPlans {
  /** Plan the harmless part of each host. */
  readonly tools: ApplyTools;
  readonly #announced = new Map<string, HostPlan>();
  /** By the last plan of each host. */
  readonly #left = new Map<string, Left['changes']>();
  #takeOvers: readonly FleetChange[] = [];

  constructor(tools: ApplyTools) {
    this.tools = {
      ...tools,
      plan: (facts, host, said) => {
        const announced = this.#announced.get(host.name);
        const { plan, left } = harmlessPart(tools.plan(facts, host, said), facts, announced);
        this.#left.set(host.name, left);
        return plan;
      },
    };
  }

  /** Returns the survey with the harmless changes to Azure DevOps. From now on plans have only what this survey has. */
  announce(survey: FleetSurvey): FleetSurvey {
    for (const { host, plan } of survey.hosts) this.#announced.set(host.name, plan);
    const { changes } = survey.pools;
    this.#takeOvers = changes.filter(({ action }) => action.kind === 'take-over');
    return { ...survey, pools: { ...survey.pools, changes: changes.filter(isHarmlessInAzure) } };
  }

  /** Returns the hosts with changes that are left, in the order of the survey. */
  get left(): readonly Left[] {
    return [...this.#announced.keys()].flatMap((host) => {
      const takeOvers = this.#takeOvers.flatMap((change) => takeOverOf(change, host));
      const changes = [...(this.#left.get(host) ?? []), ...takeOvers];
      return changes.length === 0 ? [] : [{ host, changes }];
    });
  }
}

/** A take-over as a change that cannot run. */
function takeOverOf({ title, why, action }: FleetChange, host: string): readonly Shape[] {
  if (action.kind !== 'take-over' || action.host !== host) return [];
  return [{ kind: 'shape', step: 'pool', title, why, until: 'pool', disturbs: 'nothing', marker: 'change' }];
}

/** Throws if an option contradicts `--only-harmless`. */
export function refuseWithOnlyHarmless(options: Options): void {
  const others = [
    ['--plan', options.string('plan') !== undefined],
    ['--out', options.string('out') !== undefined],
    ['--adopt', options.flag('adopt')],
    ['--disturb-others', options.flag('disturbOthers')],
  ] as const;
  const other = others.find(([, isSet]) => isSet);
  if (other === undefined) return;
  throw usageError({
    code: 'usage.only-harmless',
    what: `--only-harmless and ${other[0]} contradict each other`,
    next: 'omit one of them',
  });
}

/** A change that is left, in the JSON document. */
export interface LeftChange {
  readonly step: string;
  readonly title: string;
  readonly disturbs: string;
  /** False: it depends on the result of another change. */
  readonly isKnown: boolean;
}

/** Returns what is left as the member of the JSON document; null: without --only-harmless. */
export function leftJson(left: readonly Left[] | undefined): readonly object[] | null {
  if (left === undefined) return null;
  const shown = ({ step, title, disturbs, kind }: Change | Shape): LeftChange => ({
    step,
    title,
    disturbs,
    isKnown: kind === 'change',
  });
  return left.map(({ host, changes }) => ({ host, changes: changes.map(shown) }));
}
