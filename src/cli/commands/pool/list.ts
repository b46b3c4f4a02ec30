import type { Pool } from '../../../shared/azure/client.ts';
import { poolOverviews } from '../../../shared/azure/pools/overview.ts';
import type { Context } from '../../../shared/base/context.ts';
import { ExitCode, type Problem } from '../../../shared/base/errors.ts';
import { completed, nearest } from '../../../shared/base/nearest.ts';
import { painter } from '../../render/color.ts';
import { poolTable } from '../../render/pools.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';
import { openPools, tellPatterns } from './names.ts';

/** Shows the pools. Changes nothing. A pool that is named and not there is a mistake; one of the inventory may come yet. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const open = await openPools(context, input);
  const { fleet, azure, pools } = open;
  tellPatterns(context, input, open);
  const overviews = await poolOverviews(azure, pools, fleet.projects, context.clock.wall());
  const style = { width: context.stdout.columns ?? 160, paint: painter(context.stdout, context.env) };
  const named = new Set(input.positionals);
  const missing = overviews.filter(({ name, id }) => id === undefined && named.has(name));
  const problems = await Promise.all(
    missing.map(async ({ name }) => notThere(name, await azure.listPools())),
  );
  const shown = overviews.filter((overview) => !missing.includes(overview));
  return {
    exitCode: missing.length > 0 ? ExitCode.usage : ExitCode.ok,
    json: { pools: overviews },
    problems,
    aside: problems,
    ...(shown.length > 0 ? { text: () => `${poolTable(shown, style).join('\n')}\n` } : {}),
  };
}

function notThere(name: string, all: readonly Pool[]): Problem {
  const names = all.filter(({ isHosted }) => isHosted !== true).map((pool) => pool.name);
  const near = nearest(name, names) ?? completed(name, names);
  return {
    code: 'pool.missing',
    step: 'pool',
    what: `there is no pool ${name}, or the token may not see it`,
    next:
      near === undefined ? 'see the pools of the inventory: azp-fleet pool list' : `did you mean "${near}"?`,
  };
}
