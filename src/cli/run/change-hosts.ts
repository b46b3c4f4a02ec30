import { type AnySurvey, closeAll, toFleetPlan, unreadIn } from '../../fleet/apply/fleet-survey.ts';
import { exitCodeOf, type HostOutcome } from '../../fleet/apply/outcome.ts';
import type { Fleet, WaveLimits } from '../../fleet/inventory/fleet.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { FleetPlan, HostPlan, WavesPlan } from '../../fleet/plan/fleet-plan.ts';
import { hasChanges } from '../../fleet/plan/plan.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem } from '../../shared/base/errors.ts';
import { parseShare } from '../../shared/base/quantities.ts';
import { version } from '../../shared/base/version.ts';
import { confirm } from '../ask.ts';
import type { CommandInput } from '../command.ts';
import type { Options } from '../options.ts';
import { usesColor } from '../render/color.ts';
import { count, say } from '../render/lines.ts';
import { leftText } from '../render/left.ts';
import { outcomeText } from '../render/outcome.ts';
import { planText } from '../render/plan.ts';
import { declined, problemsAmong, type Result } from '../result.ts';
import type { Connected } from './hosts.ts';
import type { OpenHosts } from './inventory.ts';
import type { Left } from './only-harmless.ts';

/** The parts of a command that changes hosts: read, show, ask, apply. */
export interface HostChanges<Found extends AnySurvey> {
  readonly survey: () => Promise<Found>;
  /** In which order hosts lose their agents. */
  readonly waves: (found: Found) => WavesPlan | undefined;
  readonly apply: (found: Found) => Promise<readonly HostOutcome[]>;
  /** The question before changes. `where`: the places that the plan changes. */
  readonly question: (where: string) => string;
  /** Asks the separate question, after the changes are confirmed. */
  readonly agree?: (found: Found) => Promise<void>;
  /** True if only the separate question is asked. */
  readonly isConfirmedSeparately?: (plan: FleetPlan) => boolean;
  /** The next action if there is no terminal to ask on. */
  readonly unasked: string;
  /** Lines on changes outside the hosts and Azure DevOps, shown with the plan and confirmed with it. */
  readonly elsewhere?: (found: Found) => readonly string[];
  /** Returns the result where the plan as shown is not carried out: nothing is asked and changed. */
  readonly stop?: (found: Found, plan: FleetPlan) => Result | undefined;
  /** Changes that the run leaves by intention, shown with the plan and at the end. */
  readonly left?: () => readonly Left[];
  /** Problems outside the hosts, reported if only the plan is shown. */
  readonly beside?: () => readonly Problem[];
}

/**
 * Reads the hosts, shows the plan, asks, applies. Honors `--dry-run`, `--yes`, `--diff`, `--show-scripts` and
 * `--detailed-exitcode` if the command has them. Closes the connections in any case.
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
  const elsewhere = changes.elsewhere?.(found) ?? [];
  if (!options.flag('json')) {
    showPlan(context, input, plan, found, changes.left?.());
    if (elsewhere.length > 0) say(context.stdout, `${elsewhere.join('\n')}\n`);
  }
  if (options.flag('dryRun')) {
    await closeAll(found);
    const beside = [...(changes.beside?.() ?? []), ...(found.lackedRights ?? [])];
    return dryResult(input, plan, found.failures, beside);
  }
  const stopped = changes.stop?.(found, plan);
  if (stopped !== undefined) {
    await closeAll(found);
    return stopped;
  }
  const asks =
    (hasChanges(plan) || elsewhere.length > 0) &&
    !options.flag('yes') &&
    changes.isConfirmedSeparately?.(plan) !== true;
  if (asks && !(await confirm(context, changes.question(changedPlaces(plan)), changes.unasked))) {
    await closeAll(found);
    say(context.stderr, 'No changes made.\n');
    return declined;
  }
  await changes.agree?.(found);
  open.redraw();
  const outcomes = await changes.apply(found);
  await open.quiet();
  const color = usesColor(context.stdout, context.env);
  const width = context.stdout.columns ?? Number.POSITIVE_INFINITY;
  return {
    exitCode: exitCodeOf(outcomes),
    json: { plan, hosts: outcomes },
    problems: problemsAmong(outcomes),
    text: () => `\n${outcomeText(outcomes, { color, width })}${leftText(changes.left?.() ?? [], width)}`,
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

/** Shows the plan if it has changes, or with --dry-run. */
function showPlan(
  context: Context,
  { options }: CommandInput,
  plan: FleetPlan,
  found: AnySurvey,
  left: readonly Left[] = [],
): void {
  if (!hasChanges(plan) && !options.flag('dryRun')) return;
  const text = planText(plan, {
    scripts: options.flag('showScripts'),
    diff: options.flag('diff'),
    color: usesColor(context.stdout, context.env),
    unread: unreadIn(found),
    left,
    width: context.stdout.columns ?? 100,
  });
  say(context.stdout, `${text}\n`);
}

/** Returns the wave limits: options override the saved plan, which overrides the inventory. */
export function waveLimits(options: Options, { waves }: Fleet, saved?: WavesPlan): WaveLimits {
  return {
    maxUnavailable:
      options.share('maxUnavailable', { least: 1 }) ??
      parseShare(saved?.maxUnavailable ?? '') ??
      waves.maxUnavailable,
    maxFailures:
      options.share('maxFailures', { least: 0 }) ?? parseShare(saved?.maxFailures ?? '') ?? waves.maxFailures,
  };
}

/** Longest list of hosts in a question, in characters. */
const longest = 160;

/** Returns the places that a plan changes, for a question: `Azure DevOps, gpu-[000-299]`, without refused hosts. */
export function changedPlaces({ fleet, hosts }: Pick<FleetPlan, 'fleet' | 'hosts'>): string {
  const changed = hosts.filter(({ stages }) => stages.length > 0);
  const places = [
    ...(fleet.length === 0 ? [] : ['Azure DevOps']),
    ...placesOf(changed.filter(({ refusals }) => refusals.length === 0)),
  ];
  return (places.length === 0 ? placesOf(changed) : places).join(', ');
}

function placesOf(hosts: readonly HostPlan[]): readonly string[] {
  if (hosts.length === 0) return [];
  const names = foldNames(hosts.map(({ host }) => host));
  return [names.length > longest ? count(hosts.length, 'host') : names];
}
