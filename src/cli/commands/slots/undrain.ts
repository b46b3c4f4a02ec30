import type { Context } from '../../../shared/base/context.ts';
import { defined } from '../../../shared/base/objects.ts';
import { undrainText, type Undrained } from '../../render/managers.ts';
import type { CommandInput } from '../../command.ts';
import { answered, askEach } from '../../run/managers.ts';
import { agreesToAll } from '../../run/whole-fleet.ts';
import { declined, type Result } from '../../result.ts';

/** Lets agents take jobs again. An agent that somebody disabled by hand in Azure DevOps stays disabled. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  if (!(await agreesToAll(context, input, 'Let every host of the inventory take jobs again?')))
    return declined;
  const slots = input.options.list('slot');
  const answers = await askEach(context, input, input.positionals, async (manager): Promise<Undrained> => {
    const { drains: before } = await manager.status();
    await manager.undrain(slots);
    const status = await manager.status();
    const left = new Set(status.drains?.map((drain) => JSON.stringify(drain)));
    const ended = before?.filter((drain) => !left.has(JSON.stringify(drain)));
    return { ...status, ...defined({ ended }) };
  });
  return answered(answers, (host, status) => undrainText(host, status, slots));
}
