import type { Problem } from '../../shared/base/errors.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import { isEmpty } from '../plan/plan.ts';
import { leftDrained } from '../plan/waves/agents.ts';
import { applyHost, refused, type ApplyHostOptions } from './apply-host.ts';
import type { ApplyTools } from './apply-tools.ts';
import { Interrupted } from './interruption.ts';
import type { TakenOver } from './names/take-over.ts';
import { failure, interruptedOutcome, type HostOutcome } from './outcome.ts';
import { probeOnly } from './proof/end-drain.ts';
import type { Survey } from './survey.ts';

export interface FinishOptions extends ApplyHostOptions {
  /** Why the host's manager cannot be had now: it gets what is possible without. */
  readonly blocked?: Problem | undefined;
  /** Takes agents' names over, once the manager runs. */
  readonly takeNames?: () => Promise<TakenOver>;
}

/** Applies the plan of one host and proves it. Never rejects. */
export async function finishHost(
  survey: Survey,
  tools: ApplyTools,
  { blocked, takeNames, ...options }: FinishOptions,
): Promise<HostOutcome> {
  const { name } = survey.host;
  let changes: number | undefined;
  try {
    if (blocked !== undefined) return await withoutManager(survey, blocked, tools, options);
    const planned = await applyPlan(survey, survey.plan, tools, options);
    if (isCut(planned)) return planned;
    changes = planned.changes;
    const taken = (await takeNames?.()) ?? { changes: 0 };
    changes += taken.changes;
    const applied = { ...planned, changes, state: changes > 0 ? 'changed' : planned.state } as const;
    if (taken.problem !== undefined) return { ...applied, state: 'failed', problem: taken.problem };
    if (options.proof === undefined) return applied;
    const known = taken.changes === 0 ? applied.verdict : undefined;
    const verdict = known ?? (await options.proof.prove(() => Promise.resolve()));
    tools.emit({ kind: 'verdict', host: name, verdict });
    return { ...applied, verdict };
  } catch (error) {
    if (!tools.signal.aborted)
      return failure(name, error, tools.log, { changes: changes ?? 0, begun: changes ?? 0 });
    return interruptedOutcome(name, changes ?? 0, error instanceof Interrupted ? error.at : undefined);
  }
}

async function withoutManager(
  survey: Survey,
  blocked: Problem,
  tools: ApplyTools,
  options: ApplyHostOptions,
): Promise<HostOutcome> {
  const { host, facts } = survey;
  const { proof } = options;
  const answers = survey.plan.packages ?? {};
  const applied = await applyPlan(survey, tools.plan(facts, host, { answers, final: false }), tools, {
    ...options,
    ...(proof === undefined ? {} : { proof: probeOnly(proof) }),
  });
  return isCut(applied) ? applied : { ...applied, state: 'failed', problem: { ...blocked, host: host.name } };
}

/** `left`: what of the announced plan is possible now. */
async function applyPlan(
  survey: Survey,
  left: HostPlan,
  tools: ApplyTools,
  options: ApplyHostOptions,
): Promise<HostOutcome> {
  const { name } = survey.host;
  if (tools.signal.aborted) return interruptedOutcome(name, 0);
  const [refusal] = survey.plan.refusals;
  if (refusal !== undefined)
    return { host: name, state: 'failed', changes: 0, problem: refused(name, refusal) };
  return isEmpty(left) && !leftDrained(survey.facts)
    ? { host: name, state: 'ok', changes: 0 }
    : applyHost(survey, tools, options);
}

function isCut({ state }: HostOutcome): boolean {
  return state === 'failed' || state === 'skipped' || state === 'unreachable';
}
