import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { checkReferences } from '../../../inventory/check/references.ts';
import { fleetSummary } from '../../../render/inventory.ts';
import type { CommandInput } from '../../command.ts';
import { openInventory } from '../../fleet/hosts.ts';
import type { Result } from '../../result.ts';

/** Mistakes end in a usage error, as with every command; what only looks wrong is told, and no error. */
export function run(context: Context, { inventory }: CommandInput): Promise<Result> {
  const fleet = openInventory(context, inventory);
  const { file, organization, hosts } = fleet;
  const warnings = [
    ...fleet.warnings,
    ...checkReferences(fleet, { env: context.env, now: context.clock.wall() }),
  ];
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { file, organization, hosts: hosts.length, warnings },
    text: () => `${inventory}: ${fleetSummary(fleet)}\n`,
    aside: warnings,
  });
}
