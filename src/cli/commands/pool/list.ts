import { poolOverviews } from '../../../azure/pools/overview.ts';
import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { painter } from '../../../render/color.ts';
import { poolTable } from '../../../render/pools.ts';
import type { CommandInput } from '../../command.ts';
import { openPools } from './names.ts';

/** Shows the pools. Changes nothing. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const { fleet, azure, pools } = await openPools(context, input);
  const overviews = await poolOverviews(azure, pools, fleet.projects, context.now());
  if (input.options.flag('json')) {
    context.stdout.write(`${JSON.stringify({ pools: overviews }, undefined, 2)}\n`);
    return ExitCode.ok;
  }
  const lines = poolTable(overviews, {
    width: context.stdout.columns ?? 160,
    paint: painter(context.stdout, context.env),
  });
  context.stdout.write(`${lines.join('\n')}\n`);
  return ExitCode.ok;
}
