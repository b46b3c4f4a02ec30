import {
  hasStrayBrace,
  isPlaceholder,
  placeholders,
  placeholdersIn,
} from '../../../fleet/inventory/pool-pattern.ts';
import { noControl } from '../../../shared/base/foreign-text.ts';
import type { Choices, HostChoice } from '../choices.ts';
import type { Prompts } from '../interview/prompts.ts';
import type { Wizard } from '../wizard-context.ts';

export type AgentsChoice = Pick<Choices, 'pool' | 'agents' | 'share'>;

/** Stands for a pool that is not there yet: no pool can have a name with a slash. */
const newPool = '/';

/** The pool, and how many agents each host runs. `pools`: names of those that the server has, where it was asked. */
export async function askAgents(
  { prompts }: Wizard,
  hosts: readonly HostChoice[],
  pools: readonly string[] = [],
): Promise<AgentsChoice> {
  const pool = await askPool(prompts, pools);
  const counted = hosts.flatMap((host) => host.gpus ?? []);
  const withGpus = counted.filter((count) => count > 0);
  const total = counted.reduce((sum, count) => sum + count, 0);
  if (prompts.answers('agents.count') || (withGpus.length === 0 && counted.length === hosts.length)) {
    const agents = await askCount(prompts, 'No GPU was found. Agents on each host:', 1);
    const fewest = withGpus.length === 0 ? agents : Math.min(...withGpus);
    return { pool, agents, share: agents > fewest && (await askShare(prompts, fewest)) };
  }
  const agents = await prompts.choose<'one-per-gpu' | 'number'>(
    'agents',
    'Agents on each host:',
    [
      {
        name: counted.length < hosts.length ? 'one for each GPU' : `one for each GPU, ${total} in all`,
        value: 'one-per-gpu',
      },
      { name: 'a number; the GPUs are divided among them', value: 'number' },
    ],
    'one-per-gpu',
  );
  if (agents === 'one-per-gpu') return { pool, agents, share: false };
  return { pool, ...(await askDivision(prompts, withGpus.length === 0 ? 256 : Math.min(...withGpus))) };
}

async function askPool(prompts: Prompts, pools: readonly string[]): Promise<string> {
  const usual = pools.length === 0 || prompts.answers('pool');
  const chosen = usual
    ? newPool
    : await prompts.choose(
        'pool.listed',
        'Agent pool:',
        [{ name: 'a new one', value: newPool }, ...pools.map((name) => ({ name, value: name }))],
        newPool,
      );
  if (chosen !== newPool) return chosen;
  return prompts.text('pool', 'Agent pool (created when missing):', {
    default: 'gpu-lab',
    check: poolMistake,
  });
}

/** What an inventory or Azure DevOps would not take; also a pattern is a name. */
export function poolMistake(text: string): string | undefined {
  if (text === '') return 'A name';
  if (!noControl.test(text)) return 'A name without control characters';
  if (text.length > 128) return 'A name of at most 128 characters';
  const [forbidden] = /["*/:<>?\\|]/.exec(text) ?? [];
  if (forbidden !== undefined) return `Azure DevOps takes no ${forbidden} in the name of a pool`;
  const unknown = placeholdersIn(text).find((name) => !isPlaceholder(name) || name === 'group');
  if (unknown === undefined && !hasStrayBrace(text)) return undefined;
  const known = placeholders.filter((name) => name !== 'group').map((name) => `{${name}}`);
  return `Braces stand for what a host has: ${known.join(', ')}`;
}

/** More agents than the smallest host has GPUs is possible only when jobs share them. */
async function askDivision(prompts: Prompts, fewest: number): Promise<Pick<Choices, 'agents' | 'share'>> {
  for (;;) {
    const agents = await askCount(prompts, 'How many?', Math.min(fewest, 2));
    if (agents <= fewest) return { agents, share: false };
    if (await askShare(prompts, fewest)) return { agents, share: true };
  }
}

function askShare(prompts: Prompts, fewest: number): Promise<boolean> {
  const gpus = `${fewest} GPU${fewest === 1 ? '' : 's'}`;
  return prompts.confirm('share', `A host has ${gpus}. May jobs share a GPU?`, true);
}

async function askCount(prompts: Prompts, message: string, preset: number): Promise<number> {
  return Number(await prompts.text('agents.count', message, { default: String(preset), check: checkCount }));
}

function checkCount(text: string): string | undefined {
  return /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 256
    ? undefined
    : 'A number from 1 to 256';
}
