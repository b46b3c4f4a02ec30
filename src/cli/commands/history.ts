import type { Context } from '../../shared/base/context.ts';
import type { CommandInput } from '../command.ts';
import { historyText } from '../render/history.ts';
import type { Result } from '../result.ts';
import { answered, askEach } from '../run/managers.ts';

const dayMs = 24 * 3_600_000;

/** Shows what happened on hosts, and a summary of their last days; with --audit who changed them. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  if (input.options.flag('audit')) return (await import('./history-audit.ts')).runAudit(context, input);
  const { clock, stdout } = context;
  const now = clock.wall();
  const since = new Date(input.options.moment('since', now) ?? now - 2 * dayMs).toISOString();
  const answers = await askEach(context, input, input.positionals, (manager) => manager.history(since));
  const hosts = answers.flatMap((answer) =>
    'value' in answer ? [{ host: answer.host, history: answer.value }] : [],
  );
  return {
    ...answered(answers, () => ''),
    json: { since, hosts: answers, entries: null },
    text: () => historyText(hosts, since, stdout.columns),
  };
}
