import type { Context } from '../../../shared/base/context.ts';
import { webhookText } from '../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { answered, askEach } from '../../run/managers.ts';
import type { Result } from '../../result.ts';

/** Has managers send a test message to their webhooks. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const answers = await askEach(context, input, input.positionals, async (manager) => {
    await manager.testWebhook();
    return 'taken';
  });
  return answered(answers, webhookText);
}
