import type { Context } from '../../../shared/base/context.ts';
import { heldNames, refusedNames, takeNames } from '../../../fleet/client/take-names.ts';
import { say } from '../../render/lines/say.ts';
import { adoptText, heldLines } from '../../render/managers.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { answered, withManagers } from '../../run/managers.ts';
import { pause } from '../../pause.ts';
import { declined, type Result } from '../../result.ts';

/** Takes over agent names that another owner holds: looks which, says what it means, asks, tells the managers. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const chosen = input.options.list('slot');
  return withManagers(context, input, input.positionals, async (managers) => {
    const looks = await managers.ask(async (manager) => heldNames(await manager.status(), chosen));
    const held = looks.filter((look) => 'value' in look).filter(({ value }) => value.length > 0);
    say(
      context.stderr,
      heldLines(held)
        .map((line) => `${line}\n`)
        .join(''),
    );
    const asks = held.length > 0 && !input.options.flag('yes');
    if (asks && !(await confirm(context, 'Take these names over?'))) return declined;
    const told = await managers.ask(
      async (manager, { name }) => {
        const value = held.find(({ host }) => host === name)?.value ?? [];
        const slots = value.map(({ slot }) => slot);
        const { refused } = await takeNames(manager, slots, {
          clock: context.clock,
          sleep: (ms) => pause(ms, context.signal, 'the manager goes on by itself'),
        });
        if (refused.length > 0) throw refusedNames(name, refused);
        return value;
      },
      held.map(({ host }) => host),
    );
    const answers = looks.map((look) => told.find(({ host }) => host === look.host) ?? look);
    return answered(answers, adoptText);
  });
}
