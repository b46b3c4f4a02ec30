import type { Context } from '../../shared/base/context.ts';
import { ExitCode } from '../../shared/base/errors.ts';
import type { CommandInput } from '../command.ts';
import { hostTable } from '../render/inventory.ts';
import type { Result } from '../result.ts';
import { openHosts } from '../run/inventory.ts';

export function runList(context: Context, input: CommandInput): Promise<Result> {
  const { hosts } = openHosts(context, input);
  const text = () => `${hostTable(hosts, context.stdout.columns ?? Infinity).join('\n')}\n`;
  return Promise.resolve({ exitCode: ExitCode.ok, json: { hosts }, text });
}
