import type { Context } from '../../../base/context.ts';
import { ExitCode, usageError } from '../../../base/errors.ts';
import { completionScript, shells } from '../../../render/completion.ts';
import type { CommandInput } from '../../command.ts';
import type { Result } from '../../result.ts';
import { sharedBy, sharedOptions } from '../../shared-options.ts';

export function run({ stdout }: Context, input: CommandInput): Promise<Result> {
  const shell = shells.find((known) => known === input.positionals[0]);
  if (shell === undefined)
    throw usageError({
      code: 'usage.shell',
      what: 'no completion for this shell',
      expected: shells.join(', '),
      seen: input.positionals[0] ?? 'nothing',
      next: 'name one: azp-fleet completion bash',
    });
  const commands = input.commands.map((spec) => ({
    ...spec,
    options: [...(spec.options ?? []), ...sharedBy(spec)],
  }));
  const script = completionScript(shell, commands, sharedOptions);
  return Promise.resolve({ exitCode: ExitCode.ok, json: { shell, script }, text: () => script, to: stdout });
}
