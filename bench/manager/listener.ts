import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { installAgent } from '../../practice/agent/pack.ts';
import { type FakeControl, fakeControl } from '../../practice/azure/control/control.ts';
import type { Extent } from '../measure.ts';
import { clientFor, token } from '../pools/client.ts';
import { PracticeServer } from '../pools/server.ts';
import { recordResults, table } from '../results.ts';
import { spread } from '../statistics.ts';
import { type Recorded, type Run, runs } from './own-time.ts';

const pool = 'gpu-listener';
const agent = 'alone';

/** Milliseconds that a job takes by itself. */
const jobs = { short: 1000, long: 30_000 };

/**
 * `npm run bench -- listener`: the agent's listener on this machine, without manager and container, one job at a time. It is
 * the floor of a job's time in the rows of `npm run bench -- manager`.
 */
export async function run(_args: readonly string[], { rounds = 5 }: Extent): Promise<void> {
  const server = await PracticeServer.start();
  const folder = mkdtempSync(join(tmpdir(), 'azp-bench-'));
  const env = { ...process.env, AGENT_ALLOW_RUNASROOT: '1' };
  try {
    await installAgent(folder, '5.279.0');
    await clientFor(server.organization).ensurePool(pool);
    const login = ['--unattended', '--url', server.organization, '--auth', 'pat', '--token', token];
    execFileSync(join(folder, 'config.sh'), [...login, '--pool', pool, '--agent', agent], { env });
    const control = fakeControl(new URL(server.organization).origin);
    const taken = { short: [] as Run[], long: [] as Run[] };
    for (let round = 0; round < rounds; round += 1)
      for (const job of ['short', 'long'] as const)
        taken[job].push(await oneJob(folder, env, control, jobs[job] / 1000));
    record(rounds, taken);
  } finally {
    rmSync(folder, { recursive: true });
    await server.end();
  }
}

/** Starts the listener for one job, which is queued once it listens. */
async function oneJob(
  folder: string,
  env: NodeJS.ProcessEnv,
  control: FakeControl,
  seconds: number,
): Promise<Run> {
  const now = (): number => performance.now();
  const lines: Recorded[] = [{ t: now(), kind: 'begin', n: 1, what: `POST /containers/${agent}/start` }];
  const child = spawn(join(folder, 'run.sh'), ['--once'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const queued: Promise<unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const kind = saidBy(line);
    if (kind === undefined) return;
    lines.push({ t: now(), kind, id: agent });
    if (kind === 'listening') queued.push(control.queue({ pool, script: `sleep ${seconds}` }));
  });
  child.once('exit', () => lines.push({ t: now(), kind: 'die', id: agent }));
  const closed = once(child, 'close');
  await once(child, 'spawn');
  lines.push({ t: now(), kind: 'end', n: 1 });
  await closed;
  await Promise.all(queued);
  const [taken] = runs(lines);
  if (taken?.jobMs === undefined) throw new Error(`the listener ended with ${child.exitCode}, without a job`);
  return taken;
}

/** Returns what a line of the agent's console reports, as recorder.mjs does in a manager. Pure. */
export function saidBy(line: string): 'listening' | 'running' | 'completed' | undefined {
  if (/Z: Listening for Jobs/u.test(line)) return 'listening';
  if (/Z: Running job: /u.test(line)) return 'running';
  return /Z: Job .* completed with result: /u.test(line) ? 'completed' : undefined;
}

function record(rounds: number, taken: Readonly<Record<keyof typeof jobs, readonly Run[]>>): void {
  const all = [...taken.short, ...taken.long];
  const beyond = (job: keyof typeof jobs) =>
    taken[job].flatMap(({ jobMs = Number.NaN }) => jobMs - jobs[job]);
  const rows = {
    'listener.listening-ms': all.flatMap(({ agentStartMs }) => agentStartMs ?? []),
    'listener.job-ms': beyond('short'),
    'listener.long-job-ms': beyond('long'),
    'listener.end-ms': all.flatMap(({ agentEndMs }) => agentEndMs ?? []),
  };
  const names = [
    'its start to listening',
    'a job of 1 s, beyond that',
    'a job of 30 s, beyond that',
    "a job's end to its exit",
  ];
  const lines = Object.values(rows).map((values, index) => {
    const { median, least, most } = spread(values);
    return [names[index], median.toFixed(0), `${least.toFixed(0)} to ${most.toFixed(0)}`];
  });
  recordResults(
    'listener',
    `the listener alone, on this machine; ${rounds} rounds of a job of 1 s and one of 30 s`,
    table(['what', 'median ms', 'spread'], lines),
    { rows },
  );
}
