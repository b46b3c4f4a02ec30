import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { NewAgent } from '../../../src/shared/azure/client.ts';
import type { AzureClient } from '../../../src/shared/azure/client.ts';
import { agentFiles, type AgentKey } from '../../../src/shared/azure/keys.ts';
import { installAgent } from '../../../practice/agent/pack.ts';

export interface InstalledAgent {
  readonly name: string;
  readonly folder: string;
  readonly poolId: number;
  readonly agentId: number;
}

/** Registers an agent over REST and puts the stand-in of this version with its three files into `folder`. */
export async function installRegistered(
  client: AzureClient,
  organization: string,
  agent: NewAgent,
  { folder, version, key, settings = {} }: InstallOptions,
): Promise<InstalledAgent> {
  const { pool } = await client.ensurePool('gpu');
  const existing = await client.findAgent(pool.id, agent.name);
  const registered =
    existing === undefined
      ? await client.createAgent(pool.id, agent)
      : await client.replaceAgent(pool.id, existing.id, agent);
  await installAgent(folder, version);
  for (const file of agentFiles({ agent: registered, pool, organization, key })) {
    const changed =
      file.name === '.agent'
        ? JSON.stringify({ ...(JSON.parse(file.content) as object), ...settings })
        : file.content;
    writeFileSync(join(folder, file.name), changed, { mode: file.mode });
  }
  return { name: agent.name, folder, poolId: pool.id, agentId: registered.id };
}

interface InstallOptions {
  readonly folder: string;
  readonly version: string;
  readonly key: AgentKey;
  /** Over those of `.agent`. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** A running program of an agent: what it wrote on both outputs, in order, and how it ended. */
export interface AgentProgram {
  readonly child: ChildProcess;
  readonly exited: Promise<number | NodeJS.Signals>;
  /** Times are `TIME`. */
  console(): readonly string[];
}

/** `program` is a path in the agent's folder (run.sh, config.sh, bin/Agent.Listener), or an absolute one. */
export function startProgram(
  folder: string,
  program: string,
  args: readonly string[],
  options: SpawnOptions = {},
): AgentProgram {
  const file = join(folder, `console-${Math.random()}.log`);
  const output = openSync(file, 'a', 0o666);
  const child = spawn(resolve(folder, program), args, {
    ...options,
    stdio: ['ignore', output, output],
    env: {
      PATH: process.env['PATH'],
      HOME: folder,
      AGENT_ALLOW_RUNASROOT: '1',
      HOSTNAME: 'c0ffee',
      ...options.env,
    },
  });
  closeSync(output);
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 0));
  });
  const console = (): string[] =>
    readFileSync(file, 'utf8')
      .replaceAll(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ: /gmu, 'TIME: ')
      .split('\n')
      .slice(0, -1);
  return { child, exited, console };
}

export const startListener = (folder: string, options: SpawnOptions = {}): AgentProgram =>
  startProgram(folder, 'bin/Agent.Listener', ['run', '--once'], options);
