import { hostPath } from '../../../fleet/inventory/schema/values.ts';
import type { DatasetChoice } from '../choices.ts';
import type { Wizard } from '../wizard-context.ts';

/** Read-only folders for jobs: mounts that the hosts have are offered, others are typed. None is usual. */
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
      `Variable that tells jobs where ${host} is:`,
      {
        default: free(variableFor(host), taken),
        check: (text) => variableMistake(text, taken),
      },
    );
    const requireMount = await prompts.confirm(
      `datasets.${host}.mount`,
      `Is ${host} a mount (NFS, …) that has to be there?`,
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

/** Blanks may stand in a path: only one before a slash ends it. */
function words(text: string): string[] {
  return text
    .split(/[,\r\n]+|\s+(?=\/)/)
    .map((path) => path.trim())
    .filter((path) => path !== '');
}
