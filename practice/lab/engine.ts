import { existsSync, rmSync, writeFileSync } from 'node:fs';

import { addRules } from './firewall.ts';
import { withLock } from './lock.ts';
import { inState, network, registry } from './paths.ts';
import { prepareMachine } from './machine.ts';
import { type Output, type RunOptions, commandLine, detach, endProcess, pidIn, run, until } from './run.ts';
import { say } from './say.ts';

const socket = inState('docker.sock');
const containerdSocket = inState('containerd.sock');
const pidFile = inState('docker.pid');

/** Debian's own client: a newer one from elsewhere may refuse to speak to this engine. */
const client = '/usr/bin/docker';

/** The Docker client, only for the lab's engine. */
export function docker(args: readonly string[], options: RunOptions = {}): Promise<Output> {
  return run(...dockerCommand(args), options);
}

/** The same as a program and its arguments, for callers that start it themselves. */
export function dockerCommand(args: readonly string[]): [program: string, args: string[]] {
  return [client, ['-H', `unix://${socket}`, ...args]];
}

/** Starts the lab's private Docker Engine, or finds it running. The machine's own engine is never touched. */
export async function ensureEngine(): Promise<void> {
  await prepareMachine();
  await withLock('engine', async () => {
    if (!(await answers())) await start();
    await ensureNetwork();
  });
}

async function answers(): Promise<boolean> {
  if (!existsSync(socket)) return false;
  return (await docker(['version'], { allowFailure: true, timeoutMs: 10_000 })).code === 0;
}

async function start(): Promise<void> {
  say('starting the lab engine');
  await stopEngine();
  writeFileSync(inState('containerd.toml'), containerdConfig());
  writeFileSync(inState('daemon.json'), '{}\n');
  // A bridge that a killed engine left behind keeps the subnet.
  await run('ip', ['link', 'delete', network.bridge], { allowFailure: true });
  detach('containerd', ['--config', inState('containerd.toml')], inState('log/containerd.log'));
  await until('containerd', () => Promise.resolve(existsSync(containerdSocket)), { timeoutMs: 30_000 });
  detach('dockerd', dockerdArguments(), inState('log/dockerd.log'));
  await until(`the lab engine (see ${inState('log/dockerd.log')})`, answers, { timeoutMs: 60_000 });
}

/** A separate containerd: dockerd would otherwise share the machine's, and its namespace, with the machine's Docker. */
function containerdConfig(): string {
  return [
    'version = 2',
    'disabled_plugins = ["io.containerd.grpc.v1.cri"]',
    `root = "${inState('containerd')}"`,
    `state = "${inState('containerd-run')}"`,
    '[grpc]',
    `address = "${containerdSocket}"`,
    '',
  ].join('\n');
}

function dockerdArguments(): string[] {
  return [
    ['--config-file', inState('daemon.json')],
    ['--containerd', containerdSocket],
    ['--data-root', inState('docker')],
    ['--exec-root', inState('exec')],
    ['--pidfile', pidFile],
    ['-H', `unix://${socket}`],
    // Rules of our own instead of Docker's chains: another engine on this machine would lose its rules to ours.
    ['--bridge=none', '--iptables=false', '--ip6tables=false'],
    ['--insecure-registry', registry, '--log-level', 'warn'],
  ].flat();
}

async function ensureNetwork(): Promise<void> {
  const found = await docker(['network', 'inspect', network.name], { allowFailure: true });
  if (found.code !== 0) {
    await docker(
      [
        ['network', 'create', '--subnet', network.subnet, '--gateway', network.gateway],
        ['--ip-range', network.spare, '-o', `com.docker.network.bridge.name=${network.bridge}`, network.name],
      ].flat(),
    );
  }
  await addRules();
}

/** Stops the engine and its containerd, if they run, with everything in them. */
export async function stopEngine(): Promise<void> {
  if (await answers()) {
    const { stdout } = await docker(['ps', '-aq']);
    const ids = stdout.split('\n').filter(Boolean);
    if (ids.length > 0) await docker(['rm', '-fv', ...ids], { allowFailure: true });
  }
  await endProcess(pidIn(pidFile, isOurs));
  await endProcess(await containerdPid());
  for (const file of [socket, containerdSocket, `${containerdSocket}.ttrpc`, pidFile])
    rmSync(file, { force: true });
}

function isOurs(pid: number): boolean {
  return commandLine(pid).join(' ').includes(inState('docker'));
}

async function containerdPid(): Promise<number | undefined> {
  const { stdout } = await run('pgrep', ['-f', `^containerd --config ${inState('containerd.toml')}`], {
    allowFailure: true,
  });
  const pid = Number(stdout.trim().split('\n')[0]);
  return Number.isInteger(pid) && pid > 0 ? pid : undefined;
}
