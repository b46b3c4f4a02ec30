import type { Context } from '../../../shared/base/context.ts';
import { usageError } from '../../../shared/base/errors.ts';
import { askedOutput } from '../../render/asked-output.ts';
import { runsText } from '../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { answered, askEach } from '../../run/managers.ts';
import type { Result } from '../../result.ts';

/**
 * `HOST` lists the last runs, `HOST/SLOT` prints the output of the slot's container or of its last run, with `--diag` what
 * the agent itself wrote about a failed one.
 */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const [host = '', slot] = (input.positionals[0] ?? '').split('/');
  if (host === '' || slot === '')
    throw usageError({
      code: 'usage.target',
      what: 'logs need a host',
      expected: 'HOST or HOST/SLOT, e.g. h200-1/0',
      next: 'see hosts and slots: azp-fleet status',
    });
  const isDiag = input.options.flag('diag');
  checkDiag(slot, isDiag, input);
  if (slot === undefined || input.options.flag('runs')) {
    const limit = input.options.integer('last', { min: 1, max: 1000 }) ?? 20;
    const query = slot === undefined ? { limit } : { slot, limit };
    const answers = await askEach(context, input, [host], (manager) => manager.runs(query));
    return answered(answers, runsText);
  }
  const tail = input.options.integer('tail', { min: 1, max: 10_000 }) ?? 200;
  const answers = await askEach(context, input, [host], (manager) =>
    isDiag ? manager.diagnostics(slot, input.options.string('run')) : manager.logs(slot, tail),
  );
  const { to, clean } = askedOutput(context);
  const printed = () => answers.map((answer) => ('value' in answer ? clean(answer.value) : '')).join('');
  return { ...answered(answers, () => ''), text: printed, to };
}

/** Options that would mean nothing are refused. */
function checkDiag(slot: string | undefined, isDiag: boolean, { options }: CommandInput): void {
  if (isDiag && (slot === undefined || options.flag('runs')))
    throw usageError({
      code: 'usage.target',
      what: '--diag is about one slot, and about one run of it',
      expected: 'HOST/SLOT --diag, with --run ID for another than the last failed one',
      next: 'see the runs and their ids: azp-fleet logs HOST',
    });
  if (options.string('run') !== undefined && !isDiag)
    throw usageError({
      code: 'usage.option',
      what: '--run goes with --diag',
      next: 'leave it out, or add --diag',
    });
}
