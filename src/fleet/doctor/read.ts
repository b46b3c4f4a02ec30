import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

import type { Fetch } from '../../shared/azure/http/proxy.ts';
import type { AzureClient } from '../../shared/azure/client.ts';
import type { TokenPermissions } from '../../shared/azure/token-permissions.ts';
import type { Clock } from '../../shared/base/clock.ts';
import { codeOf, FleetError, whyNot } from '../../shared/base/errors.ts';
import { foreignLine } from '../../shared/base/foreign-text.ts';
import type { Answered } from '../../shared/base/reading.ts';
import { defined } from '../../shared/base/objects.ts';
import { planFleetPools } from '../apply/pools.ts';
import { plainPools } from '../inventory/pool-pattern.ts';
import { poolsSeen } from '../status/collect.ts';
import type { Observation } from '../status/row.ts';
import type { PoolSeen } from './host-seen.ts';
import type { MachineSeen, TokenSeen } from './machine-rungs.ts';

const sshMs = 10_000;
/** `OpenSSH_9.2p1 Debian-2+deb12u3, OpenSSL 3.0.14` */
const mostOfSsh = 4096;

/** Asks the ssh of this machine for its version, without secrets in its environment. */
export async function readSsh(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<MachineSeen['ssh']> {
  const options = { env, signal, timeout: sshMs, maxBuffer: mostOfSsh };
  return new Promise((resolve, reject) => {
    execFile('ssh', ['-V'], options, (error, _, stderr) => {
      if (signal.aborted) return reject(error ?? new Error('interrupted'));
      const [version = ''] = foreignLine(stderr).split(/[ ,]/);
      if (error === null) return resolve({ kind: 'value', value: version });
      if (codeOf(error) === 'ENOENT') return resolve({ kind: 'absent' });
      resolve({ kind: 'unknown', why: `ssh -V failed: ${whyNot(error)}` });
    });
  });
}

/** Reads the free space for a folder that may not exist yet. */
export async function readDisk(folder: string): Promise<MachineSeen['disk']> {
  for (let path = folder; ; path = dirname(path)) {
    try {
      const { bavail, bsize } = await statfs(path);
      return { kind: 'value', value: { path: folder, freeBytes: bavail * bsize } };
    } catch (error) {
      if (codeOf(error) === 'ENOENT' && path !== dirname(path)) continue;
      return { kind: 'unknown', why: `${path}: ${whyNot(error)}` };
    }
  }
}

/** Compares the clock of a server with this machine's, by the date of its answers. */
export class ServerClock {
  readonly #clock: Pick<Clock, 'wall'>;
  #aheadMs: number | undefined;

  constructor(clock: Pick<Clock, 'wall'>) {
    this.#clock = clock;
  }

  /** Returns a fetch that notes the date of each answer. */
  noting(fetch: Fetch): Fetch {
    return async (url, init) => {
      const answer = await fetch(url, init);
      const date = Date.parse(answer.headers.get('date') ?? '');
      if (!Number.isNaN(date)) this.#aheadMs = this.#clock.wall() - date;
      return answer;
    };
  }

  /** Milliseconds by which this machine is ahead. */
  get aheadMs(): Answered<number> {
    return this.#aheadMs === undefined
      ? { kind: 'unknown', why: 'no server answered with its time' }
      : { kind: 'value', value: this.#aheadMs };
  }
}

/** Asks the organization with the token, and whether it may write pools. Changes nothing. */
export async function askToken(
  client: Pick<AzureClient, 'findPool'>,
  permissions: Pick<TokenPermissions, 'mayWritePools'>,
  pool: string,
): Promise<Pick<TokenSeen, 'answer' | 'mayWrite'>> {
  try {
    await client.findPool(pool);
  } catch (error) {
    return { answer: { problem: problemOf(error) } };
  }
  try {
    return { answer: {}, mayWrite: { kind: 'value', value: await permissions.mayWritePools() } };
  } catch (error) {
    return { answer: {}, mayWrite: { kind: 'unknown', why: problemOf(error).what } };
  }
}

function problemOf(error: unknown): FleetError['problem'] {
  if (error instanceof FleetError) return error.problem;
  throw error;
}

/** Returns the pools of a host's agents: without facts those whose names need none. Pure. */
export function poolsOfHost(observation: Observation): readonly string[] {
  const names = observation.facts === undefined ? plainPools([observation.host]) : poolsSeen(observation);
  return [...new Set(names)];
}

/** Reads pools, their project queues and permissions, each pool by itself. Changes nothing. */
export async function readPools(
  client: AzureClient,
  names: readonly string[],
  projects: readonly string[],
): Promise<ReadonlyMap<string, PoolSeen>> {
  const pools = await Promise.all(names.map(async (name) => readPool(client, name, projects)));
  return new Map(pools.map((pool) => [pool.name, pool]));
}

async function readPool(client: AzureClient, name: string, projects: readonly string[]): Promise<PoolSeen> {
  const { changes, blocked } = await planFleetPools(client, [name], projects);
  const problem = blocked.get(name);
  if (problem?.code !== 'azure.project-missing') return { name, changes, ...defined({ problem }) };
  const alone = await readPool(client, name, []);
  return { ...alone, projectProblem: problem };
}
