import { until } from '../lab/run.ts';
import type { LabHost } from '../lab/host.ts';
import type { FakeControl, FakeJob } from '../azure/control/control.ts';

/** What a job does: says which container it is in and which GPUs it sees, and leaves a file for the next one to find. */
const script = `
[ ! -e "$HOME/left-behind" ] || echo 'found something of another job'
touch "$HOME/left-behind"
container=$(sed -n 's|.*/containers/\\([0-9a-f]\\{12\\}\\).*|\\1|p' /proc/self/mountinfo | head -n 1)
echo "container $container"
nvidia-smi --query-gpu=name,uuid --format=csv,noheader | sed 's/^/gpu /'
sleep 1
`;

export interface JobRun {
  readonly name: string;
  readonly agent: string;
  readonly container: string;
  readonly gpu: string;
  readonly result: string;
  readonly isFresh: boolean;
}

/** Queues jobs at the practice server and waits until all are done. */
export async function runJobs(control: FakeControl, pool: string, count: number): Promise<readonly JobRun[]> {
  const queued = new Set((await control.queue({ pool, name: 'train', count, script })).map((job) => job.id));
  const ours = (jobs: readonly FakeJob[]): FakeJob[] => jobs.filter((job) => queued.has(job.id));
  const jobs = await control.until((all) => ours(all).every((job) => job.state === 'done'), {
    timeoutMs: 180_000,
  });
  return ours(jobs).map(describe);
}

function describe(job: FakeJob): JobRun {
  const said = (word: string): string => new RegExp(`^${word} (.*)$`, 'm').exec(job.log)?.[1] ?? '';
  return {
    name: job.name,
    agent: job.runs.at(-1)?.agent ?? '',
    container: said('container'),
    gpu: said('gpu')
      .replace(/^NVIDIA /, '')
      .replace(/GPU-(\w{8}).*/, 'GPU-$1…'),
    result: job.result ?? job.state,
    isFresh: !job.log.includes('found something'),
  };
}

/** Waits until no host has any of these jobs' containers; false when one stays for half a minute. */
export function allGone(hosts: readonly LabHost[], runs: readonly JobRun[]): Promise<boolean> {
  const look = async (): Promise<boolean> => {
    const lists = await Promise.all(hosts.map((host) => host.exec('docker ps -aq')));
    const existing = new Set(lists.flatMap(({ stdout }) => stdout.split('\n')));
    return runs.every((run) => !existing.has(run.container));
  };
  return until('the containers to go', look, { timeoutMs: 30_000, everyMs: 500 }).catch(() => false);
}

/** Every job succeeded, each once, in a container that no other job has seen. */
export function allWell(runs: readonly JobRun[]): boolean {
  const containers = new Set(runs.map((run) => run.container));
  const succeeded = runs.every((run) => run.result === 'succeeded' && run.isFresh && run.container !== '');
  return succeeded && containers.size === runs.length;
}

export function jobTable(runs: readonly JobRun[]): string {
  const rows = [
    ['job', 'agent', 'container', 'GPU', 'result'],
    ...runs.map((run) => [run.name, run.agent, run.container, run.gpu, run.result]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
