import { closeAll, toFleetPlan, unreadIn, type AnySurvey } from '../../fleet/apply/fleet-survey.ts';
import { exitCodeOf, type HostOutcome } from '../../fleet/apply/outcome.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/version.ts';
import type { FleetPlan, WavesPlan } from '../../fleet/plan/fleet-plan.ts';
import { hasChanges } from '../../fleet/plan/plan.ts';
import { changedPlaces } from '../render/groups/changed-places.ts';
import { usesColor } from '../render/color.ts';
import { say } from '../render/lines/say.ts';
import { outcomeText } from '../render/outcome.ts';
import { planText } from '../render/plan/plan-text.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import type { OpenHosts } from './hosts.ts';
import { declined, problemsAmong, type Result } from '../result.ts';
import type { Connected } from './with-hosts.ts';

/** What a command that changes hosts does in the common order: read, show, ask, apply. */
export interface HostChanges<Found extends AnySurvey> {
  readonly survey: () => Promise<Found>;
  /** In which order hosts lose their agents. */
  readonly waves: (found: Found) => WavesPlan | undefined;
  readonly apply: (found: Found) => Promise<readonly HostOutcome[]>;
  /** What is asked before anything is changed. `where`: what the plan changes. */
  readonly question: (where: string) => string;
  /** Asks what is asked by itself, once the changes have been agreed to. */
  readonly agree?: (found: Found) => Promise<void>;
  /** Nothing but that is to be asked. */
  readonly isAskedByItself?: (plan: FleetPlan) => boolean;
  /** What to do where nobody can be asked. */
  readonly unasked: string;
  /** Problems beside the hosts, told where only the plan is shown. */
  readonly beside?: () => readonly Problem[];
}

/**
 * Reads the hosts, shows the plan, asks, applies; `--dry-run`, `--yes`, `--diff`, `--show-scripts` and
 * `--detailed-exitcode` are honoured where the command has them. The connections are closed however it ends.
 */
export async function changeHosts<Found extends AnySurvey>(
  context: Context,
  input: CommandInput,
  open: OpenHosts & Connected,
  changes: HostChanges<Found>,
): Promise<Result> {
  const { options } = input;
  const found = await changes.survey();
  await open.quiet();
  const plan = toFleetPlan(open.fleet, found, {
    version,
    clock: context.clock,
    waves: changes.waves(found),
  });
  if (!options.flag('json')) showPlan(context, input, plan, found);
  if (options.flag('dryRun')) {
    await closeAll(found);
    return dryResult(input, plan, found.failures, changes.beside?.() ?? []);
  }
  const asks = hasChanges(plan) && !options.flag('yes') && changes.isAskedByItself?.(plan) !== true;
  if (asks && !(await confirm(context, changes.question(changedPlaces(plan)), changes.unasked))) {
    await closeAll(found);
    say(context.stderr, 'Nothing was changed.\n');
    return declined;
  }
  await changes.agree?.(found);
  open.redraw();
  const outcomes = await changes.apply(found);
  await open.quiet();
  return {
    exitCode: exitCodeOf(outcomes),
    json: { plan, hosts: outcomes },
    problems: problemsAmong(outcomes),
    text: () =>
      `\n${outcomeText(outcomes, { color: usesColor(context.stdout, context.env), width: context.stdout.columns ?? Number.POSITIVE_INFINITY })}`,
  };
}

function dryResult(
  { options }: CommandInput,
  plan: FleetPlan,
  failures: readonly HostOutcome[],
  beside: readonly Problem[],
): Result {
  const pending = options.flag('detailedExitcode') && hasChanges(plan);
  return {
    exitCode: failures.length > 0 ? ExitCode.hostFailed : pending ? ExitCode.changesPending : ExitCode.ok,
    json: { plan, hosts: failures },
    problems: [...beside, ...problemsAmong(failures)],
  };
}

/** The plan comes before the question, and without one too where it is all there is. */
function showPlan(context: Context, { options }: CommandInput, plan: FleetPlan, found: AnySurvey): void {
  if (!hasChanges(plan) && !options.flag('dryRun')) return;
  const text = planText(plan, {
    scripts: options.flag('showScripts'),
    diff: options.flag('diff'),
    color: usesColor(context.stdout, context.env),
    unread: unreadIn(found),
    width: context.stdout.columns ?? 100,
  });
  say(context.stdout, `${text}\n`);
}
