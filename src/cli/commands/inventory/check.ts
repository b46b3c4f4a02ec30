import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { loadFleet } from '../../../inventory/load.ts';
import { checkReferences } from '../../../inventory/check/references.ts';
import { fleetSummary } from '../../../render/inventory.ts';
import { problemLines } from '../../../render/problem.ts';
import type { CommandInput } from '../../command.ts';

/** Mistakes end in a usage error, as with every command; what only looks wrong is told, and no error. */
export function run(context: Context, { inventory, options }: CommandInput): Promise<ExitCode> {
  const fleet = loadFleet(inventory, context);
  const warnings = [...fleet.warnings, ...checkReferences(fleet, { env: context.env, now: context.now() })];
  if (options.flag('json')) {
    const { file, organization, hosts } = fleet;
    context.stdout.write(
      `${JSON.stringify({ file, organization, hosts: hosts.length, warnings }, undefined, 2)}\n`,
    );
    return Promise.resolve(ExitCode.ok);
  }
  for (const warning of warnings)
    context.stderr.write(`${problemLines(warning, (context.stderr.columns ?? 80) - 1).join('\n')}\n`);
  context.stdout.write(`${inventory}: ${fleetSummary(fleet)}\n`);
  return Promise.resolve(ExitCode.ok);
}
