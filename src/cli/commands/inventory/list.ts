import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { loadFleet } from '../../../inventory/load.ts';
import { selectHosts } from '../../../inventory/select.ts';
import { hostTable } from '../../../render/inventory.ts';
import type { CommandInput } from '../../command.ts';

export function run(context: Context, { inventory, options, positionals }: CommandInput): Promise<ExitCode> {
  const fleet = loadFleet(inventory, context);
  const hosts = selectHosts(fleet, [...options.list('limit'), ...positionals]);
  const text = options.flag('json') ? JSON.stringify({ hosts }, undefined, 2) : hostTable(hosts).join('\n');
  context.stdout.write(`${text}\n`);
  return Promise.resolve(ExitCode.ok);
}
