import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { bases } from '../../../image/choose.ts';
import { baseTable } from '../../../render/images.ts';
import type { CommandInput } from '../../command.ts';

/** Shows the bases that agent images can be built upon. Contacts nobody. */
export function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const text = input.options.flag('json') ? `${JSON.stringify(bases, undefined, 2)}\n` : baseTable(bases);
  context.stdout.write(text);
  return Promise.resolve(ExitCode.ok);
}
