import type { Context } from '../../../base/context.ts';
import { usageError, type ExitCode } from '../../../base/errors.ts';
import { askedOutput } from '../../../render/asked-output.ts';
import { runsText } from '../../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { showAnswers, withManagers } from '../../managers.ts';

/** `HOST` lists the last runs, `HOST/SLOT` prints the output of the slot's container or of its last run. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const [host = '', slot] = (input.positionals[0] ?? '').split('/');
  if (host === '' || slot === '')
    throw usageError({
      code: 'usage.target',
      what: 'logs need a host',
      expected: 'HOST or HOST/SLOT, e.g. h200-1/0',
      next: 'see hosts and slots: azp-fleet status',
    });
  if (slot === undefined || input.options.flag('runs')) {
    const limit = input.options.integer('last', { min: 1, max: 1000 }) ?? 20;
    const query = slot === undefined ? { limit } : { slot, limit };
    const answers = await withManagers(context, input, [host], (manager) => manager.runs(query));
    return showAnswers(context, input, answers, runsText);
  }
  const tail = input.options.integer('tail', { min: 1, max: 10_000 }) ?? 200;
  const answers = await withManagers(context, input, [host], (manager) => manager.logs(slot, tail));
  const { to, clean } = askedOutput(context, input.options.flag('json'));
  return showAnswers({ ...context, stdout: to }, input, answers, (_, text) => clean(text));
}
