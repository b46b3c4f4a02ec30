import type { Context } from '../../../shared/base/context.ts';
import { ExitCode } from '../../../shared/base/errors.ts';
import { hostTable } from '../../render/inventory.ts';
import type { CommandInput } from '../../command.ts';
import { openHosts } from '../../run/hosts.ts';
import type { Result } from '../../result.ts';

export function run(context: Context, input: CommandInput): Promise<Result> {
  const { hosts } = openHosts(context, input);
  const text = () => `${hostTable(hosts, context.stdout.columns ?? Infinity).join('\n')}\n`;
  return Promise.resolve({ exitCode: ExitCode.ok, json: { hosts }, text });
}
