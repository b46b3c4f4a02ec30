import { spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { styleText } from 'node:util';

import type { FakeControl, FakeJob } from '../azure/control/control.ts';
import { practiceEnvironment } from '../lab/azure.ts';
import { cleanLab } from '../lab/clean.ts';
import type { LabHost } from '../lab/host.ts';
import { network, repository, sharedByLabs, state } from '../lab/paths.ts';
import { until } from '../lab/run.ts';
import { progress } from '../lab/say.ts';
import { folder, inventory, machines, pool, startFleet } from './fleet.ts';

const jobCount = 8;
const file = relative(repository, inventory);

export const headings = {
  machines: '1 · three machines, and an Azure DevOps to practise with',
  provision: '2 · from bare machines to agents, in one command',
  status: '3 · how is the fleet?',
  jobs: `4 · ${jobCount} jobs, each in a separate container`,
  again: '5 · the same command again',
};

/** Runs the whole demo. Returns 0 only when every step succeeded. */
export async function runDemo({ fresh }: { readonly fresh: boolean }): Promise<number> {
  const began = Date.now();
  reportSteps();

  heading(headings.machines);
  if (existsSync(inventory) && !fresh) line('  using the machines of the last run (--fresh: start over)');
  const { lab, azure } = await startFleet(fresh);
  for (const machine of machines) {
    line(`  ${machine.name.padEnd(8)} ${lab.host(machine.name).address.padEnd(13)} ${machine.about}`);
  }
  line(`  ${'azure'.padEnd(8)} ${azure.organization}`);

  heading(headings.provision);
  const provision = await azpFleet(['provision', file, '--yes']);
  if (provision.code !== 0) return failed('the machines could not be provisioned', provision.code);

  heading(headings.status);
  const status = await azpFleet(['status', file]);
  if (status.code !== 0) return failed('the fleet is not healthy', status.code);

  heading(headings.jobs);
  const runs = await runJobs(azure.control, pool, jobCount);
  line(jobTable(runs));
  if (!allWell(runs)) return failed('not every job succeeded in a fresh container', 1);
  if (!(await allGone(lab.hosts, runs))) return failed('a container outlived its job', 1);
  line(`\n${runs.length} jobs in ${runs.length} different containers; none of them exists any more.`);

  heading(headings.again);
  const again = await azpFleet(['provision', file, '--yes'], { capture: true });
  if (again.code !== 0 || !again.output.includes('no changes')) {
    return failed('the second run changed something', again.code);
  }

  heading(`done in ${duration(Date.now() - began)}`);
  const [first] = lab.hosts;
  process.stdout.write(
    nextText(`ssh -i demo-fleet/id_ed25519 ${first?.user ?? 'root'}@${first?.address ?? ''}`).slice(1),
  );
  return 0;
}

function failed(what: string, code: number): number {
  process.stderr.write(`\n✗ ${what}. The machines stay up for inspection.\n`);
  process.stderr.write('  Next: read the lines above; npm run demo -- --fresh starts over\n');
  return code === 0 ? 1 : code;
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

const bold = (text: string): string => styleText('bold', text, { stream: process.stdout });
const dim = (text: string): string => styleText('dim', text, { stream: process.stdout });

/** Shows the lab's own progress below the heading of a part. */
function reportSteps(): void {
  progress.report = (line, seconds) => {
    print(`  ${line} ${dim(`(${seconds} s)`)}\n`);
  };
}

/** Prints text, broken at spaces where the terminal is narrower. */
function print(text: string): void {
  const { isTTY, columns } = process.stdout;
  process.stdout.write(
    isTTY
      ? text
          .split('\n')
          .map((each) => broken(each, columns))
          .join('\n')
      : text,
  );
}

/** Returns a line broken at spaces into lines of at most `columns`; a longer word stays whole. */
export function broken(text: string, columns: number): string {
  if (text.length <= columns) return text;
  const pieces = new RegExp(String.raw`(\S.{0,${columns - 5}})(?: +|$)`, 'g');
  return text.replace(pieces, '$1\n    ').trimEnd();
}

function heading(text: string): void {
  process.stdout.write(`\n${bold(`── ${text} ${'─'.repeat(Math.max(0, 74 - text.length))}`)}\n\n`);
}

function command(text: string): void {
  process.stdout.write(`${bold(`$ ${text}`)}\n`);
}

function line(text: string): void {
  print(`${text}\n`);
}

/** The CLI's downloads and logs are in the demo's folder, not in the user's home. */
const ownFolders = { XDG_CACHE_HOME: join(folder, '.cache'), XDG_STATE_HOME: join(folder, '.state') };

/** Runs the real CLI as a user would, on this terminal; returns its exit code and, where desired, what it printed. */
async function azpFleet(
  args: readonly string[],
  { capture = false }: { readonly capture?: boolean } = {},
): Promise<{ readonly code: number; readonly output: string }> {
  command(`npx azp-fleet ${args.join(' ')}`);
  const child = spawn(process.execPath, [join(repository, 'bin/azp-fleet.js'), ...args], {
    cwd: repository,
    stdio: ['inherit', capture ? 'pipe' : 'inherit', 'inherit'],
    env: {
      ...process.env,
      ...ownFolders,
      ...practiceEnvironment(folder),
      ...(capture && process.stdout.isTTY && { FORCE_COLOR: '1' }),
    },
  });
  let output = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    print(chunk);
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  child.on('error', reject).on('close', (code) => resolve(code ?? 130));
  return { code: await promise, output };
}

/** The job's script: prints its container and GPUs, and leaves a file that the next job must not find. */
const script = `
[ ! -e "$HOME/left-behind" ] || echo 'found a file of another job'
touch "$HOME/left-behind"
container=$(sed -n 's|.*/containers/\\([0-9a-f]\\{12\\}\\).*|\\1|p' /proc/self/mountinfo | head -n 1)
echo "container $container"
nvidia-smi --query-gpu=name,uuid --format=csv,noheader | sed 's/^/gpu /'
sleep 1
`;

interface JobRun {
  readonly name: string;
  readonly agent: string;
  readonly container: string;
  readonly gpu: string;
  readonly result: string;
  readonly isFresh: boolean;
}

/** Queues jobs at the practice server and waits until all are done. */
async function runJobs(control: FakeControl, pool: string, count: number): Promise<readonly JobRun[]> {
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
function allGone(hosts: readonly LabHost[], runs: readonly JobRun[]): Promise<boolean> {
  const look = async (): Promise<boolean> => {
    const lists = await Promise.all(hosts.map((host) => host.exec('docker ps -aq')));
    const existing = new Set(lists.flatMap(({ stdout }) => stdout.split('\n')));
    return runs.every((run) => !existing.has(run.container));
  };
  return until('the removal of the containers', look, { timeoutMs: 30_000, everyMs: 500 }).catch(() => false);
}

/** Returns whether every job succeeded once, in a separate container. */
function allWell(runs: readonly JobRun[]): boolean {
  const containers = new Set(runs.map((run) => run.container));
  const succeeded = runs.every((run) => run.result === 'succeeded' && run.isFresh && run.container !== '');
  return succeeded && containers.size === runs.length;
}

function jobTable(runs: readonly JobRun[]): string {
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

export async function cleanDemo(): Promise<void> {
  reportSteps();
  await cleanLab();
  rmSync(folder, { recursive: true, force: true });
  process.stdout.write('\nDone. node_modules/ and dist/ of this checkout are yours to keep or delete.\n');
}

export const helpText = `npm run demo              start the fleet, or continue with the existing one
npm run demo -- --fresh   start over with new machines
npm run demo -- --clean   undo all changes to this machine
`;

export const aboutText = `
azp-fleet demo: three GPU machines, from nothing to agents that run jobs.

Real here:   the CLI, SSH, systemd, apt, Docker Engine, the manager and the
             agents' containers. The machines are containers, too, each with
             its own systemd as process 1.
Stand-ins:   the GPUs and their driver, Azure DevOps, the agent program.

What this changes on your machine:
  · installs the Debian packages it lacks, with their services off
  · keeps its files in ${state} and ${sharedByLabs},
    and, for you to read, in demo-fleet/
  · runs its own Docker Engine beside any other, a mirror, a registry and
    a practice Azure DevOps, all on its own bridge (${network.bridge}, ${network.gateway})
  · adds four firewall rules for that bridge, switches IP forwarding on and
    allows more inotify instances, which every systemd needs
All of it stays until you say: npm run demo -- --clean

`;

export const cleanText = `
azp-fleet demo: undoing all changes to this machine.

`;

function nextText(ssh: string): string {
  return `
The fleet stays up. Try:
  npx azp-fleet status -i demo-fleet/inventory.yaml
  npx azp-fleet plan -i demo-fleet/inventory.yaml
  $EDITOR demo-fleet/inventory.yaml     # change something, plan again
  ${ssh}
And when you have seen enough:
  npm run demo -- --clean
`;
}
