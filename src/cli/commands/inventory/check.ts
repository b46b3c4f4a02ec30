import type { Context } from '../../../shared/base/context.ts';
import { ExitCode } from '../../../shared/base/errors.ts';
import { checkReferences } from '../../../fleet/inventory/check/references.ts';
import { fleetSummary } from '../../render/inventory.ts';
import type { CommandInput } from '../../command.ts';
import { openInventory } from '../../run/hosts.ts';
import type { Result } from '../../result.ts';

const notWrong: ReadonlySet<string> = new Set(['inventory.variable', 'inventory.token-expires']);

/**
 * Mistakes in the file end in a usage error, as with every command, and so does what it points at and is not there. What
 * only looks wrong, or is so only in this shell or soon, is told, and no error.
 */
export function run(context: Context, { inventory }: CommandInput): Promise<Result> {
  const fleet = openInventory(context, inventory);
  const { file, organization, hosts } = fleet;
  const found = checkReferences(fleet, { env: context.env, now: context.clock.wall() });
  const warnings = found.filter(({ code }) => notWrong.has(code));
  const missing = found.filter(({ code }) => !notWrong.has(code));
  return Promise.resolve({
    exitCode: missing.length > 0 ? ExitCode.usage : ExitCode.ok,
    json: { file, organization, hosts: hosts.length, warnings },
    problems: missing,
    text: () => `${inventory}: ${fleetSummary(fleet)}\n`,
    warnings,
    aside: missing,
  });
}
