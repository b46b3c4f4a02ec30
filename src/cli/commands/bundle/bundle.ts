import { usageError } from '../../../shared/base/errors.ts';
import type { Context } from '../../../shared/base/context.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';
import { make } from './make.ts';
import { showBundle } from './show.ts';

/** Makes a bundle, or shows one. */
export function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const [out, shown] = [options.string('out'), options.string('show')];
  if (shown !== undefined && out === undefined) return showBundle(context, shown);
  if (out !== undefined && shown === undefined) return make(context, input, out);
  throw usageError({
    code: 'usage.arguments',
    what: 'it is not said which file',
    expected: '-o FILE to make a bundle, or --show FILE to look into one',
    seen: out === undefined ? 'neither' : 'both',
    next: 'see the options: azp-fleet bundle --help',
  });
}
