import { readPoolState } from '../../../shared/azure/pools/overview.ts';
import { planPools } from '../../../fleet/plan/pools.ts';
import type { Context } from '../../../shared/base/context.ts';
import { usageError } from '../../../shared/base/errors.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';
import { carryOut, openPools } from './names.ts';

/** Makes pools usable in projects. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const open = await openPools(context, input);
  const named = input.options.list('project');
  const projects = named.length > 0 ? named : open.fleet.projects;
  if (projects.length === 0) {
    throw usageError({
      code: 'usage.project-missing',
      what: 'no project is named',
      next: 'add --project NAME, or "projects:" to the inventory',
    });
  }
  return await carryOut(
    context,
    input,
    open,
    planPools(await readPoolState(open.azure, open.pools, projects)),
  );
}
