import { noControl } from '../base/unseen.ts';
import { hasStrayBrace, isPlaceholder, placeholders, placeholdersIn } from '../inventory/pool-pattern.ts';
import type { Choices, DatasetChoice, HostChoice } from './choices.ts';
import type { Prompts } from './prompts.ts';
import type { Wizard } from './wizard-context.ts';

export type AgentsChoice = Pick<Choices, 'pool' | 'agents' | 'share'>;

/** The pool, and how many agents each host runs. */
export async function askAgents({ prompts }: Wizard, hosts: readonly HostChoice[]): Promise<AgentsChoice> {
  const pool = await prompts.text('Agent pool (created when missing):', {
    default: 'gpu-lab',
    check: poolMistake,
  });
  const counted = hosts.flatMap((host) => host.gpus ?? []);
  const withGpus = counted.filter((count) => count > 0);
  const total = counted.reduce((sum, count) => sum + count, 0);
  if (withGpus.length === 0 && counted.length === hosts.length)
    return {
      pool,
      agents: await askCount(prompts, 'No GPU was found. Agents on each host:', 1),
      share: false,
    };
  const agents = await prompts.choose<'one-per-gpu' | 'number'>('Agents on each host:', [
    {
      name: counted.length < hosts.length ? 'one for each GPU' : `one for each GPU, ${total} in all`,
      value: 'one-per-gpu',
    },
    { name: 'a number; the GPUs are divided among them', value: 'number' },
  ]);
  if (agents === 'one-per-gpu') return { pool, agents, share: false };
  return { pool, ...(await askDivision(prompts, withGpus.length === 0 ? 256 : Math.min(...withGpus))) };
}

/** What an inventory would not take; also a pattern is a name. */
export function poolMistake(text: string): string | undefined {
  if (text === '') return 'A name';
  if (!noControl.test(text)) return 'A name without control characters';
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
    const gpus = `${fewest} GPU${fewest === 1 ? '' : 's'}`;
    if (await prompts.confirm(`A host has ${gpus}. May jobs share a GPU?`, true))
      return { agents, share: true };
  }
}

async function askCount(prompts: Prompts, message: string, preset: number): Promise<number> {
  return Number(await prompts.text(message, { default: String(preset), check: checkCount }));
}

function checkCount(text: string): string | undefined {
  return /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 256
    ? undefined
    : 'A number from 1 to 256';
}

/** Read-only folders for jobs. None is usual. */
export async function askDatasets({ prompts }: Wizard): Promise<DatasetChoice[]> {
  const datasets: DatasetChoice[] = [];
  while (
    await prompts.confirm(
      datasets.length === 0 ? 'Share folders of the hosts with jobs, e.g. datasets?' : 'Another?',
      false,
    )
  ) {
    const host = await prompts.text('Folder on the hosts:', {
      check: (text) => (/^\/(?!.*\/\.\.(\/|$))[^\0:]*$/.test(text) ? undefined : 'An absolute path'),
    });
    const base = host.split('/').findLast((part) => part !== '') ?? 'data';
    const taken = datasets.map((dataset) => dataset.name);
    const name = await prompts.text('Variable that tells jobs where it is:', {
      default: base
        .toUpperCase()
        .replaceAll(/[^A-Z0-9]+/g, '_')
        .replace(/^(?=\d)|^$/, 'DATA_'),
      check: (text) => variableMistake(text, taken),
    });
    const requireMount = await prompts.confirm('Is it a mount (NFS, …) that has to be there?', false);
    datasets.push({ name, host, container: `/datasets/${name.toLowerCase()}`, requireMount });
  }
  return datasets;
}

function variableMistake(text: string, taken: readonly string[]): string | undefined {
  if (taken.includes(text)) return 'Taken';
  return /^[A-Z][A-Z0-9_]*$/.test(text) ? undefined : 'Capital letters, digits and _, e.g. IMAGENET';
}
