import { warn } from '../../render/problem.ts';
import { timestamp } from '../../../shared/base/clock.ts';
import type { Context } from '../../../shared/base/context.ts';
import { writeJournal } from '../../../fleet/apply/journal.ts';
import type { HostOutcome } from '../../../fleet/apply/outcome.ts';
import type { CommandInput } from '../../command.ts';

/**
 * Keeps how the run ended for `--rerun failed`. The work is done by now: a journal that cannot be written is a note,
 * not a failure.
 */
export async function remember(
  context: Context,
  { commandLine: command }: CommandInput,
  { journal, inventory }: { readonly journal: string; readonly inventory: string },
  outcomes: readonly HostOutcome[],
): Promise<void> {
  const at = timestamp(context.clock);
  try {
    await writeJournal(journal, { inventory, at, command }, outcomes);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === undefined) throw error;
    context.log.log('warn', 'journal', { error });
    warn(context.stderr, {
      what: `--rerun failed will not know of this run: ${journal} cannot be written (${code})`,
    });
  }
}
