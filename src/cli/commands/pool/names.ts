import { applyFleetChange } from '../../../apply/azure-pools.ts';
import type { FleetChange } from '../../../plan/pools.ts';
import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet, type OpenFleet } from '../../fleet/fleet.ts';
import { declined, type Result } from '../../result.ts';

/** The pools that are named, or those of the selected hosts. */
export async function openPools(
  context: Context,
  input: CommandInput,
): Promise<OpenFleet & { readonly pools: readonly string[] }> {
  const open = await openFleet(context, input, []);
  const named = input.positionals;
  return { ...open, pools: named.length > 0 ? named : [...new Set(open.hosts.map(({ pool }) => pool))] };
}

/** Shows the changes, asks, makes them in order. */
export async function carryOut(
  context: Context,
  { options }: CommandInput,
  { azure }: OpenFleet,
  changes: readonly FleetChange[],
): Promise<Result> {
  const say = (text: string) => context.stderr.write(`${text}\n`);
  for (const { title, why } of changes) say(`${title} (${why})`);
  const ask = changes.length > 0 && !options.flag('yes');
  if (ask && !(await confirm(context, 'Make these changes in Azure DevOps?'))) return declined;
  for (const change of changes) {
    await applyFleetChange(azure, change);
    say(`done: ${change.title}`);
  }
  const text = () => (changes.length === 0 ? 'no changes\n' : '');
  return { exitCode: ExitCode.ok, json: { changes }, text };
}
