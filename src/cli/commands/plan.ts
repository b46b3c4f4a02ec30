import { resolve as resolvePath } from 'node:path';

import { surveyFleet, toFleetPlan, unreadIn } from '../../fleet/apply/fleet-survey.ts';
import { distinct } from '../../fleet/apply/pools.ts';
import { checkPlanFile, withFactDigests, writePlanFile } from '../../fleet/apply/saved-plan.ts';
import { wavesOf } from '../../fleet/apply/waves.ts';
import { refusedTakeOvers } from '../../fleet/plan/held-names.ts';
import { hasChanges } from '../../fleet/plan/plan.ts';
import { planWaves } from '../../fleet/plan/waves.ts';
import { supportAsPlanned } from '../../fleet/status/support.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import { version } from '../../shared/base/version.ts';
import type { CommandInput } from '../command.ts';
import { usesColor } from '../render/color.ts';
import { planText } from '../render/plan.ts';
import { problemsAmong, type Result } from '../result.ts';
import { waveLimits } from '../run/change-hosts.ts';
import { type OpenFleet, openForPlan, withFleet } from '../run/fleet.ts';
import type { Connected } from '../run/hosts.ts';
import { HarmlessPlans, leftJson, refuseWithOnlyHarmless } from '../run/only-harmless.ts';
import { openPlanning } from '../run/planning.ts';

/** Shows what `provision` would change. Changes nothing. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const onlyHarmless = input.options.flag('onlyHarmless');
  if (onlyHarmless) refuseWithOnlyHarmless(input.options);
  const out = input.options.string('out');
  const outFile = out === undefined ? undefined : resolvePath(context.cwd, out);
  if (outFile !== undefined) await checkPlanFile(outFile);
  const show = async (open: OpenFleet & Connected): Promise<Result> => {
    const limits = waveLimits(input.options, open.fleet);
    const { tools, blocked } = await openPlanning(context, input, open);
    const harmless = onlyHarmless ? new HarmlessPlans(tools) : undefined;
    const found = await surveyFleet(open.fleet, open.hosts, open.azure, harmless?.tools ?? tools, {
      follow: false,
      onPools: (pools) => pools.blocked.forEach((problem, pool) => blocked.set(pool, problem)),
    });
    const survey = harmless?.announce(found) ?? found;
    const left = harmless?.left ?? [];
    const problems = [
      ...distinct(blocked),
      ...survey.lackedRights,
      ...refusedTakeOvers(survey.held),
      ...problemsAmong(survey.failures),
    ];
    const waves = onlyHarmless
      ? undefined
      : planWaves(wavesOf(open.fleet.hosts, survey, { command: 'provision', proven: true }), limits);
    const plan = toFleetPlan(open.fleet, survey, { version, clock: context.clock, waves });
    if (outFile !== undefined) await writePlanFile(outFile, withFactDigests(plan, survey.hosts));
    const refused = plan.hosts.some(({ refusals }) => refusals.length > 0);
    const { inventory, inventoryDigest, fleet, hosts } = plan;
    const now = context.clock.wall();
    const support = survey.hosts.map(({ host, facts }) => ({
      host: host.name,
      support: supportAsPlanned(host, facts, now),
    }));
    return {
      exitCode:
        problems.length > 0 || refused
          ? ExitCode.hostFailed
          : hasChanges(plan) || left.length > 0
            ? ExitCode.changesPending
            : ExitCode.ok,
      json: {
        inventory,
        inventoryDigest,
        fleet,
        hosts,
        waves: waves ?? null,
        support,
        left: leftJson(harmless?.left),
      },
      problems,
      text: () =>
        planText(plan, {
          scripts: input.options.flag('showScripts'),
          diff: input.options.flag('diff'),
          unread: unreadIn(survey),
          left,
          support,
          color: usesColor(context.stdout, context.env),
          width: context.stdout.columns ?? 100,
        }),
    };
  };
  return withFleet(context, input, show, openForPlan);
}
