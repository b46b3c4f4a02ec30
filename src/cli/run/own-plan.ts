import type { Refusal } from '../../fleet/steps/change.ts';
import { applyHosts } from '../../fleet/apply/apply.ts';
import type { ApplyTools } from '../../fleet/apply/apply-tools.ts';
import { finishHost } from '../../fleet/apply/apply-host.ts';
import { proofOf } from '../../fleet/apply/prove.ts';
import { surveyHosts, type HostsSurvey, type Survey } from '../../fleet/apply/survey.ts';
import { wavesOf } from '../../fleet/apply/waves.ts';
import type { Context } from '../../shared/base/context.ts';
import { defined } from '../../shared/base/objects.ts';
import type { Facts } from '../../fleet/facts/facts.ts';
import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { isEmpty, planOf } from '../../fleet/plan/plan.ts';
import { isInstalled, leftDrained } from '../../fleet/plan/wave-fleet.ts';
import { planWaves } from '../../fleet/plan/waves.ts';
import type { Transport } from '../../fleet/ssh/transport.ts';
import type { Planned } from '../../fleet/steps/step.ts';
import { changeHosts, type HostChanges, waveLimits } from './change-hosts.ts';
import type { CommandInput } from '../command.ts';
import { connected, openHosts, type OpenHosts, overSsh, type Wiring } from './hosts.ts';
import { hostTools } from './planning.ts';
import type { Result } from '../result.ts';

/** What a command wants of hosts that no step of `provision` does. */
export interface OwnPlan extends Pick<HostChanges<never>, 'question' | 'unasked'> {
  /**
   * What is to be done on a host as it is now, `before` being what the first look has seen. Asked again after each stage:
   * what has been done must show in the facts, or the host ends with `plan.no-effect`. Pure.
   */
  readonly changes: (now: Facts, before: Facts, host: HostSpec) => readonly (Planned | Refusal)[];
  /** The manager goes: no host is proven, and no agents are given back. */
  readonly removes?: true;
  /** How a person goes on after failures, or after Ctrl-C: an imperative. `since`: ISO 8601, when the run began. */
  readonly again?: (since: string) => string;
}

/** Tests bring their own; commands what they need beside the hosts. */
interface Ends extends Partial<Pick<ApplyTools, 'gather' | 'sleep' | 'deregister'>> {
  readonly wiring?: Wiring<Transport>;
  /** What has been opened already. */
  readonly opened?: OpenHosts;
}

/**
 * Runs such a command by the rules of `provision`: the hosts' locks, other people's work refused by name, our agents
 * drained, in waves, and given back where the probe works, changes of an earlier run followed first. By itself it reads no
 * token and does not ask Azure DevOps: what a pool consists of the inventory says, and who listens the managers.
 */
export function carryOut(
  context: Context,
  input: CommandInput,
  { changes, question, unasked, again, removes }: OwnPlan,
  { wiring = overSsh, opened = openHosts(context, input), ...ends }: Ends = {},
): Promise<Result> {
  const firstLooks = new Map<string, Facts>();
  const plan: ApplyTools['plan'] = (facts, host) => {
    const { name } = host;
    const before = firstLooks.get(name) ?? facts;
    firstLooks.set(name, before);
    return planOf(facts, name, changes(facts, before, host), input.options.flag('disturbOthers'));
  };
  const limits = waveLimits(input.options, opened.fleet);
  return connected(context, input, opened, wiring, (open) => {
    const tools: ApplyTools = { ...hostTools(context, input, open), plan, ...ends };
    const fleet = (found: HostsSurvey) => wavesOf(open.fleet.hosts, found, true);
    return changeHosts(context, input, open, {
      question,
      unasked,
      survey: () => surveyHosts(open.hosts, tools, { follow: !input.options.flag('dryRun') }),
      waves: (found) => planWaves(fleet(found), limits, removes),
      apply: async (found) => {
        const toGoOn = again?.(tools.owner.since);
        const waves = { fleet: fleet(found), limits, again: toGoOn };
        const outcomes = await applyHosts(found, waves, tools, (host) =>
          finishHost(host, tools, {
            exactFacts: false,
            ...defined({ removes }),
            ...(removes !== true && isToBeProven(host) ? { proof: proofOf(host, undefined, tools) } : {}),
          }),
        );
        if (context.signal.aborted && toGoOn !== undefined)
          tools.emit({ kind: 'note', text: `to go on, ${toGoOn}` });
        return outcomes;
      },
    });
  });
}

/** A host with a manager on which something is done. */
function isToBeProven({ facts, plan }: Survey): boolean {
  return isInstalled(facts) && (!isEmpty(plan) || leftDrained(facts));
}
