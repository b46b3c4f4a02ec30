import type { Context } from '../../../base/context.ts';
import { ExitCode } from '../../../base/errors.ts';
import { heldNames } from '../../../client/held-names.ts';
import { adoptText, heldLines } from '../../../render/managers.ts';
import { confirm } from '../../ask.ts';
import type { CommandInput } from '../../command.ts';
import { openManagers, showAnswers } from '../../managers.ts';

/** Takes over agent names that another owner holds: looks which, says what it means, asks, tells the managers. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const chosen = input.options.list('slot');
  const managers = openManagers(context, input, input.positionals);
  try {
    const looks = await managers.ask(async (manager) => heldNames(await manager.status(), chosen));
    const held = looks.filter((look) => 'value' in look).filter(({ value }) => value.length > 0);
    context.stderr.write(
      heldLines(held)
        .map((line) => `${line}\n`)
        .join(''),
    );
    const asks = held.length > 0 && !input.options.flag('yes');
    if (asks && !(await confirm(context, 'Take these names over?'))) return ExitCode.declined;
    const told = await managers.ask(
      async (manager, { name }) => {
        const value = held.find(({ host }) => host === name)?.value ?? [];
        await manager.adopt(value.map(({ slot }) => slot));
        return value;
      },
      held.map(({ host }) => host),
    );
    const answers = looks.map((look) => told.find(({ host }) => host === look.host) ?? look);
    return showAnswers(context, input, answers, adoptText);
  } finally {
    await managers.close();
  }
}
