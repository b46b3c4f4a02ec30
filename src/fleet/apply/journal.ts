import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import * as z from 'zod';

import { sha256 } from '../../shared/base/digest.ts';
import { usageError } from '../../shared/base/errors.ts';
import { foreignJson, escapeHidden } from '../../shared/base/foreign-text.ts';
import { replaceStateFile } from '../../shared/base/state-file.ts';
import { isBad, type HostOutcome } from './outcome.ts';

/** The outcomes of the last run on one inventory, stored on the admin's machine for `--rerun failed`. */
export interface Journal {
  readonly schema: 1;
  readonly inventory: string;
  /** ISO 8601 */
  readonly at: string;
  readonly command: string;
  readonly hosts: readonly Pick<HostOutcome, 'host' | 'state' | 'problem'>[];
}

/** Returns `~/.local/state/azp-fleet/runs/DIGEST.json`, one per inventory file. */
export function journalFile(stateDirectory: string, inventory: string): string {
  return join(stateDirectory, 'runs', `${sha256(inventory).slice(0, 16)}.json`);
}

/** Writes the outcome of a run. Hosts outside this run (`--limit`) keep their earlier entries, so that failed hosts stay listed. */
export async function writeJournal(
  file: string,
  run: Omit<Journal, 'schema' | 'hosts'>,
  outcomes: readonly HostOutcome[],
): Promise<void> {
  const touched = new Set(outcomes.map(({ host }) => host));
  const earlier = (await readJournal(file))?.hosts.filter(({ host }) => !touched.has(host)) ?? [];
  const now = outcomes.map((outcome) => ({
    host: outcome.host,
    state: isBad(outcome) && outcome.state !== 'unreachable' ? ('failed' as const) : outcome.state,
    ...(outcome.problem === undefined ? {} : { problem: outcome.problem }),
  }));
  const journal: Journal = { schema: 1, ...run, hosts: [...earlier, ...now] };
  replaceStateFile(file, escapeHidden(`${JSON.stringify(journal, null, 2)}\n`));
}

const text = z.string();
const journalShape = z.object({
  schema: z.literal(1),
  inventory: text,
  at: text,
  command: text,
  hosts: z.array(
    z.object({ host: text, state: text, problem: z.looseObject({ code: text, what: text }).optional() }),
  ),
});

/** Reads the journal; undefined: it is missing or invalid. */
export async function readJournal(file: string): Promise<Journal | undefined> {
  try {
    const value: unknown = foreignJson(await readFile(file, 'utf8'));
    return journalShape.safeParse(value).data as Journal | undefined;
  } catch {
    return undefined;
  }
}

/** Returns the hosts for `--rerun failed`: failed, unreachable or not begun. */
export async function failedHosts(file: string): Promise<readonly string[]> {
  const journal = await readJournal(file);
  if (journal === undefined)
    throw usageError({
      code: 'usage.rerun',
      what: 'there is no earlier run on this inventory to take the failed hosts from',
      next: 'run "azp-fleet provision" without --rerun first',
    });
  return journal.hosts.filter(({ state }) => state !== 'ok' && state !== 'changed').map(({ host }) => host);
}
