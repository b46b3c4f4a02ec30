import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';

import { contents, digest } from './digest.ts';
import { inState, mirrorRoot, network, ports } from './paths.ts';
import { alive, commandLine, detach, endProcess, environment, pidIn, startTime, until } from './run.ts';
import { registryConfig } from './tls.ts';

export interface Service {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly port: number;
  /** Over this process's own. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The practice server of one lab. */
export const azureService = (prefix: string): string => `azure-${prefix}`;

/** Agent tarballs, each in a folder laid out as at the vendor: agent/VERSION/FILE. */
export const agentMirror = inState('agent-mirror');

export const labServices = (): readonly Service[] => [
  {
    name: 'mirror',
    command: process.execPath,
    args: [mirrorProgram(), network.gateway, String(ports.mirror), mirrorRoot, agentMirror],
    port: ports.mirror,
  },
  {
    name: 'registry',
    command: '/usr/bin/docker-registry',
    args: ['serve', registryConfig()],
    port: ports.registry,
  },
];

/** A copy under the state folder: every checkout on this machine finds the same mirror running. */
function mirrorProgram(): string {
  const source = join(import.meta.dirname, 'mirror-server.ts');
  const copy = inState('services', `mirror-${digest(contents(source))}.mts`);
  mkdirSync(dirname(copy), { recursive: true });
  if (!existsSync(copy)) copyFileSync(source, copy);
  return copy;
}

const pidFile = (name: string): string => inState('run', `${name}.pid`);

/** Starts a service on the gateway unless the very same one answers already. */
export async function ensureService(service: Service): Promise<void> {
  const { name, port } = service;
  if (await isRunning(service)) return;
  await stopService(name);
  if (await listens(port))
    throw new Error(`${network.gateway}:${port} is taken by a program that is not the lab's ${name}`);
  const log = inState('log', `${name}.log`);
  const pid = detach(service.command, service.args, log, service.env);
  mkdirSync(dirname(pidFile(name)), { recursive: true });
  writeFileSync(pidFile(name), `${pid} ${startTime(pid)}`);
  await until(
    `${name} on port ${port} (see ${log})`,
    () => {
      if (!alive(pid)) throw new Error(`${name} ended at once: see ${log}`);
      return listens(port);
    },
    { timeoutMs: 30_000 },
  );
}

async function isRunning(service: Service): Promise<boolean> {
  const pid = pidOf(service.name);
  // Another checkout may have started it with another Node.
  const isSame = pid !== undefined && commandLine(pid).slice(1).join(' ') === service.args.join(' ');
  return isSame && isSet(environment(pid), service.env) && listens(service.port);
}

function isSet(has: readonly string[], desired: Service['env'] = {}): boolean {
  return Object.entries(desired).every(([name, value]) => has.includes(`${name}=${value}`));
}

export async function stopService(name: string): Promise<void> {
  await endProcess(pidOf(name), name);
  rmSync(pidFile(name), { force: true });
}

/** Stops every service that was started from this state folder. */
export async function stopServices(): Promise<void> {
  if (!existsSync(inState('run'))) return;
  for (const file of readdirSync(inState('run'))) await stopService(file.replace(/\.pid$/, ''));
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: network.gateway, port, timeout: 2000 });
  socket
    .on('connect', () => resolve(true))
    .on('error', () => resolve(false))
    .on('timeout', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

/** The process that we started, not another one that has got its number since. */
function pidOf(name: string): number | undefined {
  return pidIn(pidFile(name), (pid, started) => started !== '' && startTime(pid) === started);
}
