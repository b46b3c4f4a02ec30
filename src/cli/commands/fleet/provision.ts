import { resolve as resolvePath } from 'node:path';

import type { Context } from '../../../base/context.ts';
import { defined } from '../../../base/defined.ts';
import { ExitCode } from '../../../base/errors.ts';
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
import { exitCodeOf, type HostOutcome } from '../../../apply/outcome.ts';
import { hasChanges } from '../../../plan/plan.ts';
import { announcedBy, readPlanFile } from '../../../apply/saved-plan.ts';
import type { PoolsPlan } from '../../../apply/pools.ts';
import { usesColor } from '../../../render/color.ts';
import { outcomeText } from '../../../render/outcome.ts';
import { planText } from '../../../render/plan.ts';
import { createProgress, type Progress } from '../../../render/progress.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet, type OpenFleet } from '../../fleet.ts';
import { remember } from './remember.ts';
import { chooseHosts } from './rerun.ts';
import { stateFolder } from '../../state-folder.ts';
import { openWorkbench } from '../../planning-tools.ts';
import { openTransport } from '../../transport.ts';

const planFirst = 'look at the plan with "azp-fleet plan", then run again with --yes';

/** Plans, asks, applies, proves. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const { options } = input;
  const opened = await openFleet(context, input);
  const journal = journalFile(stateFolder(context.env, context.home), opened.fleet.file);
  const saved = await savedPlan(context, input, opened);
  const open = { ...opened, hosts: await chooseHosts(opened.hosts, options.string('rerun'), journal, saved) };
  let progress = startProgress(context, input, open);
  const emit = (event: Parameters<Progress['sink']>[0]) => progress.sink(event);
  const transport = openTransport(
    context,
    open,
    { sink: emit, aside: (question) => progress.aside(question) },
    { json: options.flag('json'), ...defined({ bandwidth: options.rate('uploadLimit') }) },
  );
  try {
    const { tools, blocked, prepare } = await openWorkbench(context, input, open, transport, emit);
    const onPools = (pools: PoolsPlan) =>
      pools.blocked.forEach((problem, pool) => blocked.set(pool, problem));
    const dry = options.flag('dryRun');
    const found = await surveyFleet(open.fleet, open.hosts, open.azure, tools, { follow: !dry, onPools });
    await progress.finish();
    const survey = saved === undefined ? found : announcedBy(saved, found);
    const plan = toFleetPlan(open.fleet, survey, { version, now: context.now() });
    show(context, input, plan, survey);
    if (dry) {
      await closeAll(survey);
      if (survey.failures.length > 0) return ExitCode.hostFailed;
      return options.flag('detailedExitcode') && hasChanges(plan) ? ExitCode.changesPending : ExitCode.ok;
    }
    if (
      hasChanges(plan) &&
      !options.flag('yes') &&
      !(await confirm(context, 'Apply these changes?', planFirst))
    ) {
      await closeAll(survey);
      context.stderr.write('Nothing was changed.\n');
      return ExitCode.declined;
    }
    progress = startProgress(context, input, open);
    if (hasChanges(plan)) await prepare(survey);
    const exactFacts = saved !== undefined;
    const probe = options.flag('probe');
    const outcomes = await applyFleet(survey, open.azure, tools, { exactFacts, probe, onPools });
    await progress.finish();
    await remember(context, input, { journal, inventory: open.fleet.file }, outcomes);
    report(context, input, plan, outcomes);
    if (context.signal.aborted) return ExitCode.interrupted;
    return exitCodeOf(outcomes);
  } finally {
    await progress.finish();
    await transport.close();
  }
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

function startProgress(context: Context, { options }: CommandInput, { hosts }: OpenFleet): Progress {
  return createProgress(context, { hosts: hosts.map(({ name }) => name), json: options.flag('json') });
}

/** The plan goes to stdout, but with --json only as part of the one document at the end. */
function show(context: Context, { options }: CommandInput, plan: FleetPlan, survey: FleetSurvey): void {
  if (options.flag('json')) {
    if (options.flag('dryRun'))
      context.stdout.write(`${JSON.stringify({ plan, hosts: survey.failures }, null, 2)}\n`);
    return;
  }
  if (!hasChanges(plan) && !options.flag('dryRun')) return;
  const text = planText(plan, {
    scripts: options.flag('showScripts'),
    color: usesColor(context.stdout, context.env),
    unread: unreadIn(survey),
    width: context.stdout.columns ?? 100,
  });
  context.stdout.write(`${text}\n`);
}

function report(
  context: Context,
  { options }: CommandInput,
  plan: FleetPlan,
  outcomes: readonly HostOutcome[],
): void {
  if (options.flag('json')) context.stdout.write(`${JSON.stringify({ plan, hosts: outcomes }, null, 2)}\n`);
  else context.stdout.write(`\n${outcomeText(outcomes, usesColor(context.stdout, context.env))}`);
}
