import type { Refusal } from '../../fleet/steps/change.ts';
import { applyHosts } from '../../fleet/apply/apply.ts';
import type { ApplyTools } from '../../fleet/apply/apply-tools.ts';
import { finishHost } from '../../fleet/apply/apply-host.ts';
import { proofOf } from '../../fleet/apply/prove.ts';
import { surveyHosts, type HostsSurvey, type Reached, type Survey } from '../../fleet/apply/survey.ts';
import { wavesOf } from '../../fleet/apply/waves.ts';
import type { Context } from '../../shared/base/context.ts';
import { defined } from '../../shared/base/objects.ts';
import type { DrainCommand } from '../../shared/contract/drain.ts';
import type { GatheredFacts } from '../../fleet/facts/facts.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { incompletePlan, isEmpty, planOf } from '../../fleet/plan/plan.ts';
import { isInstalled, leftDrained } from '../../fleet/plan/wave-fleet.ts';
import { planWaves } from '../../fleet/plan/waves.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import type { Planned } from '../../fleet/steps/step.ts';
import { changeHosts, type HostChanges, waveLimits } from './change-hosts.ts';
import type { CommandInput } from '../command.ts';
import { connected, overSsh, type Wiring } from './hosts.ts';
import { openHosts, type OpenHosts } from './inventory.ts';
import { hostTools } from './planning.ts';
import type { Result } from '../result.ts';

/** The changes of a command that are in no step of `provision`. */
export interface OwnPlan extends Pick<HostChanges<never>, 'question' | 'unasked'> {
  /**
   * Returns the changes to a host; `before` are its first facts. Called again after each stage: changes that do not show
   * in the facts end the host with `plan.no-effect`. Pure.
   */
  readonly changes: (
    now: GatheredFacts,
    before: GatheredFacts,
    host: HostSpec,
  ) => readonly (Planned | Refusal)[];
  readonly command: DrainCommand;
  /** True if the manager is removed: no host is verified and no agents are enabled again. */
  readonly removes?: true;
  /** Returns the next action after failures or Ctrl-C, an imperative. `since`: start of the run, ISO 8601. */
  readonly again?: (since: string) => string;
}

/** Optional parts: tests replace tools, and commands pass what they have opened. */
interface CarryOutOptions extends Partial<Pick<ApplyTools, 'gather' | 'sleep' | 'deregister' | 'counted'>> {
  /** Reads what the changes depend on besides facts, before they are planned. */
  readonly look?: (reached: readonly Reached[]) => Promise<void>;
  readonly wiring?: Wiring<Transport>;
  /** The hosts, if they are already open. */
  readonly opened?: OpenHosts;
}

/**
 * Runs such a command by the rules of `provision`: it locks hosts, refuses to interrupt other users, follows changes of
 * an earlier run, drains agents in waves, and enables them again after a successful probe. Pools are taken from the
 * inventory, and agent states from the managers: Azure DevOps is contacted only by `look` and the replaced tools.
 */
export function carryOut(
  context: Context,
  input: CommandInput,
  { command, changes, question, unasked, again, removes }: OwnPlan,
  { wiring = overSsh, opened = openHosts(context, input), look, ...replaced }: CarryOutOptions = {},
): Promise<Result> {
  const firstFacts = new Map<string, GatheredFacts>();
  const plan: ApplyTools['plan'] = (facts, host) => {
    const { name } = host;
    const before = firstFacts.get(name) ?? facts;
    firstFacts.set(name, before);
    const found = changes(facts, before, host);
    const disturbOthers = input.options.flag('disturbOthers');
    const refusals = found.filter((each): each is Refusal => 'refused' in each);
    const isRefused = refusals.some(({ step }) => step === 'facts');
    const unsure = facts.unknown.length > 0 && !isRefused && (found.length > 0 || removes === true);
    return unsure && !disturbOthers
      ? incompletePlan(facts, name, refusals, new Set(facts.unknown), 'add --disturb-others')
      : planOf(facts, name, found, disturbOthers);
  };
  const limits = waveLimits(input.options, opened.fleet);
  return connected(context, input, opened, wiring, (open) => {
    const tools: ApplyTools = { ...hostTools(context, input, open, command), plan, ...replaced };
    const fleet = (found: HostsSurvey) => wavesOf(open.fleet.hosts, found, { command, proven: true });
    return changeHosts(context, input, open, {
      question,
      unasked,
      survey: () => surveyHosts(open.hosts, tools, { follow: !input.options.flag('dryRun') }, look),
      waves: (found) => planWaves(fleet(found), limits, removes),
      apply: async (found) => {
        const nextAction = again?.(tools.owner.since);
        const waves = { fleet: fleet(found), limits, again: nextAction };
        const outcomes = await applyHosts(found, waves, tools, (host) =>
          finishHost(host, tools, {
            exactFacts: false,
            ...defined({ removes }),
            ...(removes !== true && needsProof(host, command)
              ? { proof: proofOf(host, undefined, tools) }
              : {}),
          }),
        );
        if (context.signal.aborted && nextAction !== undefined)
          tools.emit({ kind: 'note', text: `to resume, ${nextAction}` });
        return outcomes;
      },
    });
  });
}

/** Returns whether the host has a manager and changes, or was left drained by this command. */
export function needsProof({ facts, plan }: Survey, command: DrainCommand): boolean {
  return isInstalled(facts) && (!isEmpty(plan) || leftDrained(facts, command));
}
