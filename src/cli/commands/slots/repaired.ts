import type { Context } from '../../../shared/base/context.ts';
import { repairedText } from '../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { answered, askEach } from '../../run/managers.ts';
import type { Result } from '../../result.ts';

/** Tells managers that GPUs were reset or replaced: what the kernel said of them before closes no slot any more. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const named = input.options.list('gpu');
  const gpus = named.length === 0 ? ['all'] : named;
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    for (const gpu of gpus) await manager.repaired(gpu);
    return gpus;
  });
  return answered(answers, repairedText);
}
