import type { Context } from '../shared/base/context.ts';
import { ExitCode } from '../shared/base/errors.ts';
import { jsonDocument } from './render/envelope.ts';
import { sayCanceled } from './render/problem.ts';
import type { Parsed } from './parse.ts';
import { show, type Result } from './result.ts';

/**
 * Runs a command and shows its result. An interrupted command shows what was done until then and exits with
 * `interrupted`. `log`: the file of the debug log.
 */
export async function runCommand(context: Context, { spec, input }: Parsed, log?: string): Promise<ExitCode> {
  const asInterrupted = (code: ExitCode) => (context.signal.aborted ? ExitCode.interrupted : code);
  if (spec.json === false) {
    const code = asInterrupted(await (await spec.load())(context, input));
    if (context.signal.aborted) sayCanceled(context.stderr);
    return code;
  }
  const found = await (await spec.load())(context, input);
  const result: Result = { ...found, exitCode: asInterrupted(found.exitCode) };
  if (input.options.flag('json')) {
    const { exitCode, problems = [], json } = result;
    const parts = { command: spec.name, exitCode, problems, log };
    for (const piece of jsonDocument(context.clock, parts, json)) context.stdout.write(piece);
  } else {
    show(context, result);
    if (context.signal.aborted) sayCanceled(context.stderr);
  }
  return result.exitCode;
}
