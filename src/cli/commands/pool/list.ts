import { poolOverviews } from '../../../azure/pools/overview.ts';
import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { painter } from '../../../render/color.ts';
import { poolTable } from '../../../render/pools.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';
import { openPools, tellPatterns } from './names.ts';

/** Shows the pools. Changes nothing. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const open = await openPools(context, input);
  const { fleet, azure, pools } = open;
  tellPatterns(context, input, open);
  const overviews = await poolOverviews(azure, pools, fleet.projects, context.clock.wall());
  const style = { width: context.stdout.columns ?? 160, paint: painter(context.stdout, context.env) };
  const text = () => `${poolTable(overviews, style).join('\n')}\n`;
  return { exitCode: ExitCode.ok, json: { pools: overviews }, text };
}
