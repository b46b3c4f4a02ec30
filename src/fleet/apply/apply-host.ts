import { defined } from '../../shared/base/objects.ts';
import { FleetError, type Problem } from '../../shared/base/errors.ts';
import { valueOf } from '../../shared/base/reading.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import { type AuditEntry, auditEntry } from '../audit/entry.ts';
import { createManagerClient } from '../client/manager-client.ts';
import type { GatheredFacts } from '../facts/facts.ts';
import { statusOf } from '../facts/unread.ts';
import { changedFacts, factDigests } from '../plan/digest.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import { firstStage, isEmpty } from '../plan/plan.ts';
import {
  type Deviation,
  deviations,
  differentChanges,
  needsDrain,
  waitsMet,
  withoutNewWaits,
} from '../plan/refine.ts';
import { leftDrained, mayRun } from '../plan/wave-fleet.ts';
import { type Change, reboots } from '../steps/change.ts';
import type { ApplyTools } from './apply-tools.ts';
import { awaitReport } from './await-manager.ts';
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
import { awaitNoCountedJobs } from './counted-jobs.ts';
import { executeChange } from './execute.ts';
import type { TakenOver } from './held-names.ts';
import { Interrupted, type Interruption, failure, interruptedOutcome, type HostOutcome } from './outcome.ts';
import { planUnderLock } from './plan-host.ts';
import { factsAfterChanges, inProgressLine, findWorkLeft, noWorkLeft, type WorkLeft } from './resume.ts';
import type { Survey } from './survey.ts';

/** The facts of a host, and its plan by them. */
interface Planned {
  readonly facts: GatheredFacts;
  readonly plan: HostPlan;
}

/** Rounds of reading facts and planning before the plan counts as endless. */
const maxRounds = 6;

export interface ApplyHostOptions {
  /** The facts must be exactly those of the plan (a saved plan). */
  readonly exactFacts: boolean;
  /** Proves a drained host before its agents take jobs again. Absent: no proof was requested. */
  readonly proof?: Proof;
  /** The changes remove the manager: once they have begun, agents cannot be enabled again. */
  readonly removes?: true;
  /** If the changes fail, or the host afterwards, its agents stay drained, even where the GPUs work: nothing is undone. */
  readonly staysDrained?: true;
  /** The plans have harmless changes only: no host is drained, and one that an earlier run left drained is left alone. */
  readonly onlyHarmless?: true;
}

/**
 * Applies the announced plan of one host stage by stage, with new facts and a new plan after each. Drained agents take jobs again
 * once the host is proven, and the outcome then has the verdict.
 */
export async function applyHost(
  survey: Survey,
  tools: ApplyTools,
  options: ApplyHostOptions,
): Promise<HostOutcome> {
  const { host, connection, plan } = survey;
  const { who, command } = tools.owner;
  const audit = auditEntry(plan.stages, { host: host.name, run: tools.run, who, command });
  const withKey = (): AuditEntry => ({ ...audit, ...defined({ key: connection.key }) });
  let [word, isLocked] = ['failed', false];
  // Without the lock nothing is changed, and the host records nothing either.
  const onLocked = (): void => {
    isLocked = true;
    tools.audit?.('begin', withKey());
  };
  try {
    const outcome = await applyLocked(survey, { audit, onLocked }, tools, options);
    word = outcomeWord(outcome);
    return outcome;
  } finally {
    if (isLocked) tools.audit?.('end', withKey(), word);
    await connection.unlock(word).catch(() => undefined);
  }
}

/** Returns the outcome for audit files: `changed 3`, `failed 1 change.failed`. */
function outcomeWord({ state, changes, problem }: HostOutcome): string {
  return [state, changes, problem?.code ?? []].flat().join(' ');
}

/** Takes the lock and applies the plan. */
async function applyLocked(
  survey: Survey,
  { audit, onLocked }: { readonly audit: AuditEntry; readonly onLocked: () => void },
  tools: ApplyTools,
  { exactFacts, proof, removes, staysDrained, onlyHarmless }: ApplyHostOptions,
): Promise<HostOutcome> {
  const { host, connection, plan: announced } = survey;
  const { name } = host;
  const done = new Map<string, Change>();
  let [begun, begunBefore] = [0, 0];
  let drained: Drained | undefined;
  const plan = async (read: typeof readFacts = readFacts) => {
    const facts = withoutDrainsOf(tools.run, await read(connection, host, tools));
    checkMachine(name, survey.facts.machineId, facts.machineId);
    const reached = { host, connection, facts };
    return { facts, plan: withoutNewWaits(await planUnderLock(reached, tools, announced), announced) };
  };
  const client = createManagerClient(
    async () => (await connection.session()).socketAgent(HostPaths.socket),
    name,
    { anyRelease: true },
  );
  try {
    tools.emit({ kind: 'host-state', host: name, state: 'applying' });
    await connection.lock(audit);
    onLocked();
    // Changes of an earlier run that still run on the host end first.
    let now = await plan(factsAfterChanges);
    if (exactFacts) checkSaved(now, announced, name);
    for (let round = 1; ; round += 1) {
      if (leftDrained(now.facts, tools.command) && onlyHarmless !== true) {
        // This run enables the agents that an earlier run left drained, once the host is proven. A manager that did not run
        // before may report this only now.
        drained = await drain(client, 'prove the host', host, tools);
        begunBefore = -1;
        const before = now.plan;
        now = await plan();
        for (const change of noLongerNeeded(before, now.plan)) done.set(change.id, change);
      }
      check(now.plan, announced, done, name);
      const stage = firstStage(now.plan);
      if (stage.length === 0) break;
      if (round === maxRounds) throw endless(name, stage);
      if (onlyHarmless === true && needsDrain(stage)) throw new Error(`the plan of ${name} disturbs jobs`);
      if (drained === undefined && needsDrain(stage) && mayRun(now.facts)) {
        drained = await drain(client, stage[0]?.title ?? '', host, tools);
        begunBefore = begun;
      }
      await awaitNoCountedJobs(stage, host, now.facts, tools);
      if (stage.some(({ step }) => step === 'manager')) await tools.poolsReady?.(host, now.facts);
      for (const change of stage) {
        tools.signal.throwIfAborted();
        begun += 1;
        await executeChange(change, stage, connection, name, tools);
        done.set(change.id, change);
      }
      if (stage.some(reboots) && valueOf(statusOf(now.facts)) !== undefined) await awaitReport(client, tools);
      now = await plan();
    }
    const changes = done.size === 0 ? 0 : done.size + waitsMet(announced, [...done.values()]);
    const outcome: HostOutcome = { host: name, state: changes === 0 ? 'ok' : 'changed', changes };
    if (drained === undefined || removes) return outcome;
    const toEnable = drained;
    drained = undefined;
    if (proof !== undefined)
      return { ...outcome, verdict: await proveDrained(name, toEnable, proof, staysDrained) };
    await toEnable.enableAgents();
    return outcome;
  } catch (error) {
    const interrupted = tools.signal.aborted;
    const workLeft = begun > begunBefore ? await findWorkLeft(connection) : noWorkLeft;
    const end = { begun: begun > begunBefore, interrupted, workLeft, ...defined({ staysDrained }) };
    const ended = removes === true && end.begun;
    const verdict = drained && !ended ? await endEarly(name, drained, end, proof) : undefined;
    if (interrupted) return interruptedOutcome(name, done.size, interruptionOf(error, workLeft));
    const failed = failure(name, error, tools.log, { changes: done.size, begun });
    return {
      ...failed,
      ...toFollow(failed, workLeft),
      ...(failed.state === 'unreachable' ? {} : defined({ verdict })),
    };
  }
}

/** Returns what was interrupted. A unit that has not ended may be about to start. */
function interruptionOf(error: unknown, workLeft: WorkLeft): Interruption | undefined {
  const at = error instanceof Interrupted ? error.at : undefined;
  if (at?.during !== 'change' || at.unit === undefined || workLeft.kind !== 'nothing') return at;
  return workLeft.ended.includes(at.unit) ? { ...at, continues: false } : at;
}

/** Adds to a failure that a change still runs on the host, and that the next run follows it. */
function toFollow({ problem }: HostOutcome, workLeft: WorkLeft): Pick<HostOutcome, 'problem'> {
  if (problem === undefined || workLeft.kind !== 'change') return {};
  const next = `run the same command again: ${inProgressLine(workLeft.change)}, and the next run waits for its end`;
  return { problem: { ...problem, next } };
}

/** Returns changes of the earlier plan that the later one lacks; not its shapes. */
function noLongerNeeded(before: HostPlan, now: HostPlan): readonly Change[] {
  const changes = ({ stages }: HostPlan) => stages.flat().filter((change) => change.kind === 'change');
  const left = new Set(changes(now).map(({ id }) => id));
  return changes(before).filter(({ id }) => !left.has(id));
}

/** Returns the problem of a host that is not changed at all. */
function refused(host: string, { step, what, next }: HostPlan['refusals'][number]): Problem {
  return { code: step === 'facts' ? 'facts.incomplete' : 'plan.refused', host, step, what, next };
}

/** Throws if the rest of the plan was not announced, is not possible, or contains a change that was just made. */
function check(now: HostPlan, announced: HostPlan, done: ReadonlyMap<string, Change>, host: string): void {
  const [refusal] = now.refusals;
  if (refusal !== undefined) throw new FleetError(refused(host, refusal));
  const changes = now.stages.flat();
  const again = changes.find((change) => change.kind === 'change' && done.has(change.id));
  if (again?.kind === 'change')
    throw new FleetError({
      code: 'plan.no-effect',
      host,
      step: again.step,
      what: `"${again.title}" ran without an error, but is still needed`,
      seen: again.why,
      next: 'check the host, then run the command again',
    });
  const [deviation] = deviations(now, announced);
  if (deviation !== undefined) throw notAnnounced(host, deviation);
  if (changes.length > 0 && firstStage(now).length === 0)
    throw new Error(`the plan of ${host} begins with an unknown change`);
}

function notAnnounced(host: string, { title, what }: Deviation): FleetError {
  return new FleetError({
    code: 'plan.not-announced',
    host,
    what: `stopped before "${title}": it ${what}`,
    next: 'run it again without a saved plan, and confirm the new plan',
  });
}

/** Throws if a saved plan is not the plan of the host as it is now. */
function checkSaved({ facts, plan }: Planned, saved: HostPlan, host: string): void {
  if (plan.factsDigest !== saved.factsDigest) {
    const changed = saved.facts === undefined ? [] : changedFacts(saved.facts, factDigests(facts));
    if (changed.includes('machineId')) throw otherMachine(host);
    throw new FleetError({
      code: 'plan.facts-changed',
      host,
      what: 'the host has changed since the plan was made',
      ...(changed.length === 0 ? {} : { seen: `changed: ${changed.join(', ')}` }),
      next: 'make a new plan with "azp-fleet plan -o FILE", check it, and apply it',
    });
  }
  const [different] = differentChanges(plan, saved);
  if (different !== undefined) throw notAnnounced(host, different);
}

/** Throws if another machine answers than the one that was planned. An unread machine-id is empty. */
function checkMachine(host: string, planned: string, now: string): void {
  if (planned !== '' && now !== '' && now !== planned) throw otherMachine(host);
}

function otherMachine(host: string): FleetError {
  return new FleetError({
    code: 'host.other-machine',
    host,
    what: 'another machine answers than the one that was planned: its machine-id differs',
    next: 'check "address:" of the host in the inventory and its host key, then run the command again',
  });
}

function endless(host: string, stage: readonly Change[]): FleetError {
  return new FleetError({
    code: 'plan.endless',
    host,
    what: `changes are still needed after ${maxRounds} rounds`,
    seen: stage.map(({ title }) => title).join('; '),
    next: 'find what undoes the changes on the host (configuration management, unattended upgrades?)',
  });
}

interface FinishOptions extends ApplyHostOptions {
  /** Why the host cannot get a manager now: only the other changes are made. */
  readonly blocked?: Problem | undefined;
  /** Takes over agents' names once the manager runs. */
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
    if (isIncomplete(planned)) return planned;
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
  return isIncomplete(applied)
    ? applied
    : { ...applied, state: 'failed', problem: { ...blocked, host: host.name } };
}

/** Applies the plan. `left`: the part of the announced plan that is possible now. */
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
  const isResumed = leftDrained(survey.facts, tools.command) && options.onlyHarmless !== true;
  return isEmpty(left) && !isResumed
    ? { host: name, state: 'ok', changes: 0 }
    : applyHost(survey, tools, options);
}

function isIncomplete({ state }: HostOutcome): boolean {
  return state === 'failed' || state === 'skipped' || state === 'unreachable';
}
