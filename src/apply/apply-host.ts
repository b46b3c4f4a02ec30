import { FleetError, type Problem } from '../base/errors.ts';
import { HostPaths } from '../contract/paths.ts';
import type { HostPlan } from '../plan/fleet-plan.ts';
import type { Change } from '../steps/change.ts';
import { needsDrain, deviations } from '../plan/refine.ts';
import { drain, withoutMarksOf } from './drain.ts';
import { executeChange } from './execute.ts';
import { createManagerClient } from '../client/manager-client.ts';
import { Interrupted } from './interruption.ts';
import { failure, interruptedOutcome, type HostOutcome } from './outcome.ts';
import { firstStage } from '../plan/plan.ts';
import { readFacts, type Survey } from './survey.ts';
import type { ApplyTools } from './apply-tools.ts';

/** Facts are gathered and planned this often before we say that the plan does not come to an end. */
const maxRounds = 6;

export interface ApplyHostOptions {
  /** The facts must be exactly those of the plan (a plan from a file). */
  readonly exactFacts: boolean;
}

/** Brings one host to what its plan announced: stage by stage, with new facts and a new plan after each. */
export async function applyHost(
  survey: Survey,
  tools: ApplyTools,
  options: ApplyHostOptions,
): Promise<HostOutcome> {
  const { host, connection, plan: announced } = survey;
  const { name } = host;
  const done = new Set<string>();
  let restore: (() => Promise<void>) | undefined;
  const plan = async () => {
    const facts = await readFacts(connection, host, tools);
    return { facts, plan: tools.plan(withoutMarksOf(tools.run, facts), host) };
  };
  try {
    tools.emit({ kind: 'host-state', host: name, state: 'applying' });
    await connection.lock();
    let now = await plan();
    if (options.exactFacts && now.plan.factsDigest !== announced.factsDigest) throw factsChanged(name);
    for (let round = 1; ; round += 1) {
      check(now.plan, announced, done, name);
      const stage = firstStage(now.plan);
      if (stage.length === 0) break;
      if (round === maxRounds) throw endless(name, stage);
      if (restore === undefined && needsDrain(stage) && now.facts.manager.unitActive === 'active') {
        const manager = async () =>
          createManagerClient((await connection.session()).socketAgent(HostPaths.socket), name, {
            anyRelease: true,
          });
        restore = await drain(manager, stage[0]?.title ?? '', host, tools);
      }
      if (stage.some(({ step }) => step === 'manager')) await tools.poolsReady?.(host, now.facts);
      for (const change of stage) {
        tools.signal.throwIfAborted();
        await executeChange(change, stage, connection, name, tools);
        done.add(change.id);
      }
      now = await plan();
    }
    return { host: name, state: done.size === 0 ? 'ok' : 'changed', changes: done.size };
  } catch (error) {
    if (tools.signal.aborted)
      return interruptedOutcome(name, done.size, error instanceof Interrupted ? error.at : undefined);
    return failure(name, error, tools.log, done.size);
  } finally {
    await restore?.();
    await connection.unlock().catch(() => undefined);
  }
}

/** Why a host is not worked on at all. */
export function refused(host: string, { step, what, next }: HostPlan['refusals'][number]): Problem {
  return { code: 'plan.refused', host, step, what, next };
}

/** What is left to do must be what was announced, must be possible, and must not be what has just been done. */
function check(now: HostPlan, announced: HostPlan, done: ReadonlySet<string>, host: string): void {
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
      next: 'look at the host; running again tries once more',
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
