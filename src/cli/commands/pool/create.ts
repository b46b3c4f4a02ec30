import { readPoolState } from '../../../shared/azure/pools/overview.ts';
import { planPools } from '../../../fleet/plan/pools.ts';
import type { Context } from '../../../shared/base/context.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';
import { carryOut, openPools } from './names.ts';

/** Creates missing pools, and turns automatic agent updates off in those that exist. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const open = await openPools(context, input);
  return await carryOut(context, input, open, planPools(await readPoolState(open.azure, open.pools, [])));
}
