import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

import { percentile } from '../statistics.ts';
import { recordResults, table } from '../results.ts';
import type { Place } from './hosts.ts';

/** What one host of a fleet does without end, and the command that meets it. */
const floods = [
  { flood: 'lines', title: 'output without an end (`yes`)', command: ['exec', '--login', '--', 'df'] },
  { flood: 'line', title: 'one line without an end', command: ['exec', '--login', '--', 'df'] },
  { flood: 'facts', title: 'facts of 640 kB', command: ['image', 'which'] },
  { flood: 'endless facts', title: 'facts without an end', command: ['image', 'which'] },
  { flood: 'answer', title: "a manager's answer without an end", command: ['undrain', 'gpu-*'] },
] as const;

/** Cost until the other hosts were done, and the result of the whole run. */
interface Taken {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Largest resident set, in MiB. */
  readonly memory: number;
  /** The run itself, to its end. */
  readonly runMs: number;
  /** Of the host that floods. */
  readonly code: string;
}

/**
 * `npm run bench -- flood [HOSTS [ROUNDS]]`: the shipped CLI over a fleet in which one host floods it, and over the same
 * fleet in which that host is like the others, taking turns. The hosts are SSH servers in separate processes.
 */
export async function run(args: readonly string[]): Promise<void> {
  const [count = 40, rounds = 5] = args.map(Number);
  const folder = mkdtempSync(join(tmpdir(), 'azp-flood-'));
  const rows: (readonly string[])[] = [];
  try {
    for (const { flood, title, command } of floods) {
      const [calm, flooded]: [Taken[], Taken[]] = [[], []];
      for (let round = 0; round < rounds; round += 1) {
        calm.push(await taken(folder, count, 'none', command));
        flooded.push(await taken(folder, count, flood, command));
      }
      rows.push(row(title, command.join(' '), calm, flooded));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const title = `${count} hosts and one more that floods, beside the same fleet in which it does not; medians of ${rounds} runs each, taking turns`;
  const head = [
    'what it does',
    'command',
    'until the others are done ms',
    '÷ calm',
    'CPU ms by then',
    '÷ calm',
    'peak MiB',
    '÷ calm',
    'the whole run ms',
    '÷ calm',
    'its end',
  ];
  recordResults('flood', title, table(head, rows));
}

function row(
  title: string,
  command: string,
  calm: readonly Taken[],
  flooded: readonly Taken[],
): readonly string[] {
  const middle = (of: readonly Taken[], what: (taken: Taken) => number): number =>
    percentile(of.map(what), 0.5);
  const figures = [
    (taken: Taken) => taken.wallMs,
    (taken: Taken) => taken.cpuMs,
    (taken: Taken) => taken.memory,
    (taken: Taken) => taken.runMs,
  ].flatMap((what) => [
    middle(flooded, what).toFixed(0),
    (middle(flooded, what) / middle(calm, what)).toFixed(2),
  ]);
  return [title, command, ...figures, flooded[0]?.code ?? ''];
}

async function taken(
  folder: string,
  count: number,
  flood: string,
  command: readonly string[],
): Promise<Taken> {
  const [others, one] = await Promise.all([machines(count, 'none'), machines(1, flood)]);
  try {
    const places = [...one.places, ...others.places];
    const hosts = places.map(
      ({ port, hostKey }, index) =>
        `  gpu-${index}: { address: 127.0.0.1, port: ${port}, hostKeys: ["${hostKey}"] }\n`,
    );
    writeFileSync(
      join(folder, 'lab.yaml'),
      `organization: https://dev.azure.com/example\ntoken: { env: NONE }
defaults: { user: lab, pool: p, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:\n${hosts.join('')}`,
    );
    return await measured(folder, count, others.child, command);
  } finally {
    for (const { child } of [others, one]) child.disconnect();
  }
}

export async function machines(
  count: number,
  flood: string,
): Promise<{ child: ChildProcess; places: readonly Place[] }> {
  const child = fork(join(import.meta.dirname, 'hosts.ts'), [String(count), flood]);
  const [places] = (await once(child, 'message')) as [readonly Place[]];
  return { child, places };
}

async function measured(
  folder: string,
  count: number,
  others: ChildProcess,
  command: readonly string[],
): Promise<Taken> {
  const program = resolve(import.meta.dirname, '../../bin/azp-fleet.js');
  const [verb = '', ...more] = command;
  const began = performance.now();
  const cli = spawn(process.execPath, [program, verb, '-i', 'lab.yaml', '--yes', '--json', ...more], {
    cwd: folder,
    env: { PATH: process.env['PATH'], LOGIN: 'a-login-password', XDG_STATE_HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  cli.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(cli, 'close');
  const { pid = 0 } = cli;
  let memory = 0;
  const sampler = setInterval(() => (memory = Math.max(memory, peakOf(pid))), 20);
  let left = 0;
  const done = new Promise<Pick<Taken, 'wallMs' | 'cpuMs'>>((resolveAll) => {
    others.on('message', () => {
      left += 1;
      if (left === count) resolveAll({ wallMs: performance.now() - began, cpuMs: cpuOf(pid) });
    });
  });
  const until = await Promise.race([done, ended.then(() => undefined)]);
  if (until === undefined) throw new Error(`only ${left} hosts were reached: ${said.slice(0, 2000)}`);
  await ended;
  clearInterval(sampler);
  const { problems } = JSON.parse(said) as { problems: readonly { code: string }[] };
  return { ...until, memory, runMs: performance.now() - began, code: problems[0]?.code ?? 'read' };
}

/** Milliseconds of processor time, by the kernel's clock of 100 ticks a second. */
function cpuOf(pid: number): number {
  const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user + system) * 10;
}

function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}
