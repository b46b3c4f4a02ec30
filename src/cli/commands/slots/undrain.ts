import type { Context } from '../../../base/context.ts';
import type { ExitCode } from '../../../base/errors.ts';
import { drainText } from '../../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { showAnswers, withManagers } from '../../managers.ts';

/** Lets agents take jobs again. An agent that somebody disabled by hand in Azure DevOps stays disabled. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const answers = await withManagers(context, input, input.positionals, async (manager) => {
    await manager.undrain(input.options.list('slot'));
    return manager.status();
  });
  return showAnswers(context, input, answers, drainText);
}
