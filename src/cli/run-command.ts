import type { Context } from '../base/context.ts';
import type { ExitCode } from '../base/errors.ts';
import { jsonDocument } from '../render/envelope.ts';
import type { Parsed } from './parse.ts';
import { show } from './result.ts';

/** Runs a command and shows its result. `log`: the file of the debug log. */
export async function runCommand(context: Context, { spec, input }: Parsed, log?: string): Promise<ExitCode> {
  if (spec.json === false) return (await spec.load()).run(context, input);
  const result = await (await spec.load()).run(context, input);
  if (input.options.flag('json')) {
    const { exitCode, problems = [], json } = result;
    context.stdout.write(jsonDocument(context.clock, { command: spec.name, exitCode, problems, log }, json));
  } else show(context, result);
  return result.exitCode;
}
