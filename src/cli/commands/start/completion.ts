import type { Context } from '../../../shared/base/context.ts';
import { ExitCode, usageError } from '../../../shared/base/errors.ts';
import { completionScript, shells } from '../../render/completion.ts';
import type { CommandInput } from '../../command.ts';
import { namesIn } from '../../completion/fleet-names.ts';
import { offersFor } from '../../completion/offers.ts';
import type { Result } from '../../result.ts';

/** The script of a shell, or, with the words typed so far behind `--`, what that script asks for. */
export function run(context: Context, input: CommandInput): Promise<Result> {
  const shell = shells.find((known) => known === input.positionals[0]);
  if (shell === undefined)
    throw usageError({
      code: 'usage.shell',
      what: 'no completion for this shell',
      expected: shells.join(', '),
      seen: input.positionals[0] ?? 'nothing',
      next: 'name one: azp-fleet completion bash',
    });
  const script = completionScript(shell);
  if (input.rest.length === 0)
    return Promise.resolve({
      exitCode: ExitCode.ok,
      json: { shell, script, paths: 'none', offers: [] },
      text: () => script,
    });
  const { offers, paths } = offersFor(input.rest, input.commands, (inventory) =>
    namesIn(inventory ?? input.inventory, context),
  );
  const lines = [paths, ...offers.map(({ value, about }) => `${value}\t${about}`)];
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { shell, script, paths, offers },
    text: () => `${lines.join('\n')}\n`,
  });
}
