import { resolve as resolvePath } from 'node:path';

import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { version } from '../../../base/version.ts';
import { closeAll, surveyFleet, toFleetPlan, unreadIn } from '../../../apply/fleet-survey.ts';
import { hasChanges } from '../../../plan/plan.ts';
import { checkPlanFile, writePlanFile } from '../../../apply/saved-plan.ts';
import { distinct } from '../../../apply/pools.ts';
import { usesColor } from '../../../render/color.ts';
import { planText } from '../../../render/plan.ts';
import { createProgress } from '../../../render/progress.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet } from '../../fleet.ts';
import { openWorkbench } from '../../planning-tools.ts';
import { openTransport } from '../../transport.ts';

/** Shows what `provision` would change. Changes nothing. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const out = input.options.string('out');
  const outFile = out === undefined ? undefined : resolvePath(context.cwd, out);
  if (outFile !== undefined) await checkPlanFile(outFile);
  const open = await openFleet(context, input);
  const json = input.options.flag('json');
  const progress = createProgress(context, { hosts: open.hosts.map(({ name }) => name), json });
  const transport = openTransport(context, open, progress, { json });
  try {
    const { tools, blocked } = await openWorkbench(context, input, open, transport, progress.sink);
    const survey = await surveyFleet(open.fleet, open.hosts, open.azure, tools, {
      follow: false,
      onPools: (pools) => pools.blocked.forEach((problem, pool) => blocked.set(pool, problem)),
    });
    const problems = distinct(blocked);
    await progress.finish();
    await closeAll(survey);
    const plan = toFleetPlan(open.fleet, survey, { version, now: context.now() });
    if (outFile !== undefined) await writePlanFile(outFile, plan);
    if (json) {
      const failures = survey.failures.map(({ problem }) => problem);
      context.stdout.write(`${JSON.stringify({ ...plan, problems: [...problems, ...failures] }, null, 2)}\n`);
    } else {
      const scripts = input.options.flag('showScripts');
      context.stdout.write(
        planText(plan, {
          scripts,
          unread: unreadIn(survey),
          color: usesColor(context.stdout, context.env),
          width: context.stdout.columns ?? 100,
        }),
      );
    }
    if (problems.length > 0 || survey.failures.length > 0) return ExitCode.hostFailed;
    if (plan.hosts.some(({ refusals }) => refusals.length > 0)) return ExitCode.hostFailed;
    return hasChanges(plan) ? ExitCode.changesPending : ExitCode.ok;
  } finally {
    await progress.finish();
    await transport.close();
  }
}
