import { resolve } from 'node:path';

import { readInventory } from '../../fleet/inventory/load.ts';
import { checkReferences } from '../../fleet/inventory/references.ts';
import { checkSameCommands, type InventoryText } from '../../fleet/inventory/same-commands.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import type { CommandInput } from '../command.ts';
import { fleetSummary } from '../render/inventory.ts';
import type { Result } from '../result.ts';
import { openInventory } from '../run/inventory.ts';

const notWrong: ReadonlySet<string> = new Set(['inventory.variable', 'inventory.token-expires']);

/**
 * Checks the inventory, with --same-commands-as first against another one, as text. Mistakes and missing files or variables are usage
 * errors; conditions of this shell only, and a token that expires soon, are warnings.
 */
export function run(context: Context, { inventory, options }: CommandInput): Promise<Result> {
  const base = options.string('sameCommandsAs');
  if (base !== undefined) checkSameCommands(textOf(context, inventory), textOf(context, base));
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

function textOf({ cwd }: Context, name: string): InventoryText {
  return { name, text: readInventory(resolve(cwd, name), name) };
}
