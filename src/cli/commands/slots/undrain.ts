import type { Context } from '../../../base/context.ts';
import { drainText } from '../../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { answered, askEach } from '../../fleet/managers.ts';
import type { Result } from '../../result.ts';

/** Lets agents take jobs again. An agent that somebody disabled by hand in Azure DevOps stays disabled. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    await manager.undrain(input.options.list('slot'));
    return manager.status();
  });
  return answered(answers, drainText);
}
