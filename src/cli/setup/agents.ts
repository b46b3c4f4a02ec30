import {
  hasStrayBrace,
  isPlaceholder,
  placeholders,
  placeholdersIn,
} from '../../fleet/inventory/pool-pattern.ts';
import { hostPath } from '../../fleet/inventory/schema/values.ts';
import type { ParallelJobs } from '../../shared/azure/client.ts';
import { noControl } from '../../shared/base/foreign-text.ts';
import { defined } from '../../shared/base/objects.ts';
import { jobsTrouble, troubleLines } from '../render/trouble.ts';
import type { Prompts } from './question.ts';
import {
  type Choices,
  type DatasetChoice,
  type HostChoice,
  lineWidth,
  type Wizard,
} from './wizard-context.ts';

type AgentsChoice = Pick<Choices, 'pool' | 'agents' | 'share'>;

/** The choice of a new pool: pool names cannot contain a slash. */
const newPool = '/';

/** Asks for the pool and the number of agents on each host. `pools`: the server's pools, if they were read. */
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
        [{ name: 'a new pool', value: newPool }, ...pools.map((name) => ({ name, value: name }))],
        newPool,
      );
  if (chosen !== newPool) return chosen;
  return prompts.text('pool', 'Agent pool (created if missing):', {
    default: 'gpu-lab',
    check: poolMistake,
  });
}

/** Returns the mistake in a pool name or pattern, or undefined. */
export function poolMistake(text: string): string | undefined {
  if (text === '') return 'A name';
  if (!noControl.test(text)) return 'A name without control characters';
  if (text.length > 128) return 'A name of at most 128 characters';
  const [forbidden] = /["*/:<>?\\|]/.exec(text) ?? [];
  if (forbidden !== undefined) return `Azure DevOps allows no ${forbidden} in pool names`;
  const unknown = placeholdersIn(text).find((name) => !isPlaceholder(name) || name === 'group');
  if (unknown === undefined && !hasStrayBrace(text)) return undefined;
  const known = placeholders.filter((name) => name !== 'group').map((name) => `{${name}}`);
  return `Valid placeholders: ${known.join(', ')}`;
}

/** Asks for the number of agents; more than the GPUs of the smallest host requires sharing. */
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

/** Asks for read-only folders for jobs: the hosts' mounts are offered, others are typed. */
export async function askDatasets({ prompts }: Wizard, mounts: readonly string[]): Promise<DatasetChoice[]> {
  const chosen =
    mounts.length === 0 || prompts.answers('datasets')
      ? []
      : await prompts.chooseMany(
          'datasets.mounts',
          'Mounts of the hosts that jobs may read:',
          mounts.map((path) => ({ name: path, value: path })),
          [],
        );
  const more = await prompts.text(
    'datasets',
    chosen.length === 0
      ? 'Folders of the hosts that jobs may read (Enter for none):'
      : 'Other folders (Enter for none):',
    {
      default: '',
      list: true,
      check: (text) =>
        words(text)
          .map(pathMistake)
          .find((each) => each !== undefined),
    },
  );
  const datasets: DatasetChoice[] = [];
  for (const host of new Set([...chosen, ...words(more)])) {
    const taken = datasets.map((dataset) => dataset.name);
    const name = await prompts.text(
      `datasets.${host}.variable`,
      `Environment variable with the path of ${host} for jobs:`,
      {
        default: free(variableFor(host), taken),
        check: (text) => variableMistake(text, taken),
      },
    );
    const requireMount = await prompts.confirm(
      `datasets.${host}.mount`,
      `Is ${host} a mount (NFS, …) that must be present?`,
      chosen.includes(host),
    );
    datasets.push({ name, host, container: `/datasets/${name.toLowerCase()}`, requireMount });
  }
  return datasets;
}

function pathMistake(text: string): string | undefined {
  return hostPath.safeParse(text).success && !text.includes(':')
    ? undefined
    : `${text}: an absolute path, such as /data/imagenet`;
}

function variableFor(host: string): string {
  const base = host.split('/').findLast((part) => part !== '') ?? 'data';
  return base
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replace(/^(?=\d)|^$/, 'DATA_');
}

function free(name: string, taken: readonly string[]): string {
  for (let number = 2; ; number += 1) {
    const tried = number === 2 ? name : `${name}_${number - 1}`;
    if (!taken.includes(tried)) return tried;
  }
}

function variableMistake(text: string, taken: readonly string[]): string | undefined {
  if (taken.includes(text)) return 'Taken';
  return /^[A-Z][A-Z0-9_]*$/.test(text) ? undefined : 'Capital letters, digits and _, e.g. IMAGENET';
}

/** Splits paths. A path may contain spaces: only a space before a slash ends it. */
function words(text: string): string[] {
  return text
    .split(/[,\r\n]+|\s+(?=\/)/)
    .map((path) => path.trim())
    .filter((path) => path !== '');
}

/** Returns the number of agents, without hosts whose GPUs were not counted. */
export function agentCount(hosts: readonly HostChoice[], { agents }: AgentsChoice): number {
  if (agents !== 'one-per-gpu') return agents * hosts.length;
  return hosts.reduce((sum, { gpus = 0 }) => sum + gpus, 0);
}

/** Prints how many of these agents can run jobs under the organization's license, if known. */
export function sayJobs(
  wizard: Pick<Wizard, 'context' | 'say'>,
  organization: string,
  agents: number,
  jobs: ParallelJobs | undefined,
): void {
  if (jobs?.permitted === undefined) return;
  const { permitted, used } = jobs;
  const trouble = jobsTrouble({ agents, permitted, ...defined({ used }) }, organization);
  wizard.say(...troubleLines(trouble, { width: lineWidth(wizard) + 1, paint: (_, text) => text }));
}
