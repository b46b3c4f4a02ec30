import { defined } from '../../shared/base/objects.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { createManagerClient } from '../client/manager-client.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import { firstStage, isEmpty } from '../plan/plan.ts';
import { deviations, needsDrain, waitsMet, withoutNewWaits } from '../plan/refine.ts';
import { leftDrained } from '../plan/wave-fleet.ts';
import type { Change } from '../steps/change.ts';
import type { ApplyTools } from './apply-tools.ts';
import { readFacts } from './connection.ts';
import {
  drain,
  withoutDrainsOf,
  type Drained,
  endEarly,
  proveDrained,
  type Proof,
  probeOnly,
} from './drain.ts';
import { executeChange } from './execute.ts';
import type { TakenOver } from './held-names.ts';
import { Interrupted, type Interruption, failure, interruptedOutcome, type HostOutcome } from './outcome.ts';
import { planUnderLock } from './plan-host.ts';
import { factsOnceQuiet, inProgressLine, leftAtWork, nothingAtWork, type AtWork } from './resume.ts';
import type { Survey } from './survey.ts';

/** Facts are gathered and planned this often before we say that the plan does not come to an end. */
const maxRounds = 6;

export interface ApplyHostOptions {
  /** The facts must be exactly those of the plan (a plan from a file). */
  readonly exactFacts: boolean;
  /** How a drained host is proven, before its agents take jobs again. Absent: that is not asked for. */
  readonly proof?: Proof;
  /** The changes remove the manager: once they have begun, agents cannot be enabled again. */
  readonly removes?: true;
}

/**
 * Brings one host to what its plan announced: stage by stage, with new facts and a new plan after each. Agents that were
 * drained take jobs again when the host is proven, and the outcome has the verdict then.
 */
export async function applyHost(
  survey: Survey,
  tools: ApplyTools,
  { exactFacts, proof, removes }: ApplyHostOptions,
): Promise<HostOutcome> {
  const { host, connection, plan: announced } = survey;
  const { name } = host;
  const done = new Map<string, Change>();
  let [begun, begunBefore] = [0, 0];
  let drained: Drained | undefined;
  const plan = async (read: typeof readFacts = readFacts) => {
    const facts = withoutDrainsOf(tools.run, await read(connection, host, tools));
    const reached = { host, connection, facts };
    return { facts, plan: withoutNewWaits(await planUnderLock(reached, tools, announced), announced) };
  };
  const manager = async () =>
    createManagerClient((await connection.session()).socketAgent(HostPaths.socket), name, {
      anyRelease: true,
    });
  try {
    tools.emit({ kind: 'host-state', host: name, state: 'applying' });
    await connection.lock();
    // No change begins beside one that another run has left on the host.
    let now = await plan(factsOnceQuiet);
    if (exactFacts && now.plan.factsDigest !== announced.factsDigest) throw factsChanged(name);
    for (let round = 1; ; round += 1) {
      if (leftDrained(now.facts)) {
        // What another run has left drained is this one's to give back, once the host is proven. A manager that did not
        // run, or kept no names, may tell of it only now.
        drained = await drain(manager, 'prove the host', host, tools);
        begunBefore = -1;
        const before = now.plan;
        now = await plan();
        for (const change of gone(before, now.plan)) done.set(change.id, change);
      }
      check(now.plan, announced, done, name);
      const stage = firstStage(now.plan);
      if (stage.length === 0) break;
      if (round === maxRounds) throw endless(name, stage);
      if (drained === undefined && needsDrain(stage) && now.facts.manager.unitActive === 'active') {
        drained = await drain(manager, stage[0]?.title ?? '', host, tools);
        begunBefore = begun;
      }
      if (stage.some(({ step }) => step === 'manager')) await tools.poolsReady?.(host, now.facts);
      for (const change of stage) {
        tools.signal.throwIfAborted();
        begun += 1;
        await executeChange(change, stage, connection, name, tools);
        done.set(change.id, change);
      }
      now = await plan();
    }
    const changes = done.size === 0 ? 0 : done.size + waitsMet(announced, [...done.values()]);
    const outcome: HostOutcome = { host: name, state: changes === 0 ? 'ok' : 'changed', changes };
    if (drained === undefined || removes) return outcome;
    const aside = drained;
    drained = undefined;
    if (proof !== undefined) return { ...outcome, verdict: await proveDrained(name, aside, proof) };
    await aside.enableAgents();
    return outcome;
  } catch (error) {
    const interrupted = tools.signal.aborted;
    const atWork = begun > begunBefore ? await leftAtWork(connection) : nothingAtWork;
    const end = { begun: begun > begunBefore, interrupted, atWork };
    const ended = removes === true && end.begun;
    const verdict = drained && !ended ? await endEarly(name, drained, end, proof) : undefined;
    if (interrupted) return interruptedOutcome(name, done.size, interruptionOf(error, atWork));
    const failed = failure(name, error, tools.log, { changes: done.size, begun });
    return {
      ...failed,
      ...toFollow(failed, atWork),
      ...(failed.state === 'unreachable' ? {} : defined({ verdict })),
    };
  } finally {
    await connection.unlock().catch(() => undefined);
  }
}

/** What was interrupted. A unit that has not come to its end may be about to begin. */
function interruptionOf(error: unknown, atWork: AtWork): Interruption | undefined {
  const at = error instanceof Interrupted ? error.at : undefined;
  if (at?.during !== 'change' || at.unit === undefined || atWork.kind !== 'nothing') return at;
  return atWork.ended.includes(at.unit) ? { ...at, goesOn: false } : at;
}

/** A failure says what goes on all the same, and that the next run takes it up. */
function toFollow({ problem }: HostOutcome, atWork: AtWork): Pick<HostOutcome, 'problem'> {
  if (problem === undefined || atWork.kind !== 'change') return {};
  const next = `run the same command again: ${inProgressLine(atWork.change)}, and is followed to its end`;
  return { problem: { ...problem, next } };
}

/** Known changes that are no longer needed. */
function gone(before: HostPlan, now: HostPlan): readonly Change[] {
  const known = ({ stages }: HostPlan) => stages.flat().filter((change) => change.known);
  const left = new Set(known(now).map(({ id }) => id));
  return known(before).filter(({ id }) => !left.has(id));
}

/** Why a host is not worked on at all. */
function refused(host: string, { step, what, next }: HostPlan['refusals'][number]): Problem {
  return { code: 'plan.refused', host, step, what, next };
}

/** What is left to do must be what was announced, must be possible, and must not be what has just been done. */
function check(now: HostPlan, announced: HostPlan, done: ReadonlyMap<string, Change>, host: string): void {
  const [refusal] = now.refusals;
  if (refusal !== undefined) throw new FleetError(refused(host, refusal));
  const changes = now.stages.flat();
  const again = changes.find((change) => change.known && done.has(change.id));
  if (again?.known === true)
    throw new FleetError({
      code: 'plan.no-effect',
      host,
      step: again.step,
      what: `"${again.title}" ran without an error, but is still needed`,
      seen: again.why,
      next: 'check the host, then run the command again',
    });
  const [deviation] = deviations(now, announced);
  if (deviation !== undefined)
    throw new FleetError({
      code: 'plan.not-announced',
      host,
      what: `stopped before "${deviation.title}": it ${deviation.what}`,
      next: 'run it again without a saved plan, to see the new plan and agree to it',
    });
  if (changes.length > 0 && firstStage(now).length === 0)
    throw new Error(`the plan of ${host} begins with an unknown`);
}

function factsChanged(host: string): FleetError {
  return new FleetError({
    code: 'plan.facts-changed',
    host,
    what: 'the host is no longer as it was when the plan was made',
    next: 'make a new plan with "azp-fleet plan -o FILE", look at it, and apply that',
  });
}

function endless(host: string, stage: readonly Change[]): FleetError {
  return new FleetError({
    code: 'plan.endless',
    host,
    what: `after ${maxRounds} rounds there is still something to do`,
    seen: stage.map(({ title }) => title).join('; '),
    next: 'find what undoes the changes on the host (configuration management, unattended upgrades?)',
  });
}

interface FinishOptions extends ApplyHostOptions {
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
