import type { Context } from '../../../base/context.ts';
import { usageError } from '../../../base/errors.ts';
import { askedOutput } from '../../../render/asked-output.ts';
import { runsText } from '../../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { answered, askEach } from '../../fleet/managers.ts';
import type { Result } from '../../result.ts';

/** `HOST` lists the last runs, `HOST/SLOT` prints the output of the slot's container or of its last run. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
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
    const answers = await askEach(context, input, [host], (manager) => manager.runs(query));
    return answered(answers, runsText);
  }
  const tail = input.options.integer('tail', { min: 1, max: 10_000 }) ?? 200;
  const answers = await askEach(context, input, [host], (manager) => manager.logs(slot, tail));
  const { to, clean } = askedOutput(context);
  return { ...answered(answers, (_, text) => clean(text)), to };
}
