import { resolve as resolvePath } from 'node:path';

import type { Context } from '../../../base/context.ts';
import { ExitCode, type Problem } from '../../../base/errors.ts';
import { version } from '../../../base/version.ts';
import { applyFleet } from '../../../apply/apply.ts';
import type { FleetPlan } from '../../../plan/fleet-plan.ts';
import { inventoryDigest } from '../../../plan/digest.ts';
import {
  closeAll,
  surveyFleet,
  toFleetPlan,
  unreadIn,
  type FleetSurvey,
} from '../../../apply/fleet-survey.ts';
import { journalFile } from '../../../apply/journal.ts';
import { exitCodeOf } from '../../../apply/outcome.ts';
import { hasChanges } from '../../../plan/plan.ts';
import { announcedBy, readPlanFile } from '../../../apply/saved-plan.ts';
import { distinct, type PoolsPlan } from '../../../apply/pools.ts';
import { usesColor } from '../../../render/color.ts';
import { outcomeText } from '../../../render/outcome.ts';
import { planText } from '../../../render/plan.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet, type OpenFleet } from '../../fleet.ts';
import { remember } from './remember.ts';
import { chooseHosts } from './rerun.ts';
import { stateFolder } from '../../state-folder.ts';
import { openPlanning } from '../../planning-tools.ts';
import { declined, problemsAmong, type Result } from '../../result.ts';
import { connected, overSsh } from '../../with-hosts.ts';

const planFirst = 'look at the plan with "azp-fleet plan", then run again with --yes';

/** Plans, asks, applies, proves. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const opened = await openFleet(context, input);
  const journal = journalFile(stateFolder(context.env, context.home), opened.fleet.file);
  const saved = await savedPlan(context, input, opened);
  const hosts = await chooseHosts(opened.hosts, options.string('rerun'), journal, saved);
  return connected(context, input, { ...opened, hosts }, overSsh, async (open) => {
    const { tools, blocked, prepare } = await openPlanning(context, input, open);
    const onPools = (pools: PoolsPlan) =>
      pools.blocked.forEach((problem, pool) => blocked.set(pool, problem));
    const dry = options.flag('dryRun');
    const found = await surveyFleet(open.fleet, hosts, open.azure, tools, { follow: !dry, onPools });
    await open.quiet();
    const survey = saved === undefined ? found : announcedBy(saved, found);
    const plan = toFleetPlan(open.fleet, survey, { version, clock: context.clock });
    if (!options.flag('json')) showPlan(context, input, plan, survey);
    if (dry) {
      await closeAll(survey);
      return dryResult(input, plan, survey, distinct(blocked));
    }
    if (
      hasChanges(plan) &&
      !options.flag('yes') &&
      !(await confirm(context, 'Apply these changes?', planFirst))
    ) {
      await closeAll(survey);
      context.stderr.write('Nothing was changed.\n');
      return declined;
    }
    open.redraw();
    if (hasChanges(plan)) await prepare(survey);
    const exactFacts = saved !== undefined;
    const probe = options.flag('probe');
    const outcomes = await applyFleet(survey, open.azure, tools, { exactFacts, probe, onPools });
    await open.quiet();
    await remember(context, input, { journal, inventory: open.fleet.file }, outcomes);
    return {
      exitCode: context.signal.aborted ? ExitCode.interrupted : exitCodeOf(outcomes),
      json: { plan, hosts: outcomes },
      problems: problemsAmong(outcomes),
      text: () => `\n${outcomeText(outcomes, usesColor(context.stdout, context.env))}`,
    };
  });
}

async function savedPlan(
  { cwd }: Context,
  { options }: CommandInput,
  { fleet }: OpenFleet,
): Promise<FleetPlan | undefined> {
  const file = options.string('plan');
  if (file === undefined) return undefined;
  return readPlanFile(resolvePath(cwd, file), { version, inventoryDigest: inventoryDigest(fleet) });
}

function dryResult(
  { options }: CommandInput,
  plan: FleetPlan,
  { failures }: FleetSurvey,
  blocked: readonly Problem[],
): Result {
  const pending = options.flag('detailedExitcode') && hasChanges(plan);
  return {
    exitCode: failures.length > 0 ? ExitCode.hostFailed : pending ? ExitCode.changesPending : ExitCode.ok,
    json: { plan, hosts: failures },
    problems: [...blocked, ...problemsAmong(failures)],
  };
}

/** The plan comes before the question, and without one too where it is all there is. */
function showPlan(context: Context, { options }: CommandInput, plan: FleetPlan, survey: FleetSurvey): void {
  if (!hasChanges(plan) && !options.flag('dryRun')) return;
  const text = planText(plan, {
    scripts: options.flag('showScripts'),
    color: usesColor(context.stdout, context.env),
    unread: unreadIn(survey),
    width: context.stdout.columns ?? 100,
  });
  context.stdout.write(`${text}\n`);
}
