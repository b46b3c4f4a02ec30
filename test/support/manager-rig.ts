import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTryConnect, type Fetch, type TryConnect } from '../../src/shared/azure/http/proxy.ts';
import type { AzureClient } from '../../src/shared/azure/client.ts';
import { fakeControl, type FakeControl } from '../../practice/azure/control/control.ts';
import { type RunningFake, startFake } from '../../practice/azure/start.ts';
import { type LogLevel, silentLogger } from '../../src/shared/base/log.ts';
import type { ManagerConfig } from '../../src/shared/contract/config.ts';
import type { ManagerStatus, SlotStatus } from '../../src/shared/contract/status.ts';
import { createEngine } from '../../src/shared/engine/docker.ts';
import type { Engine } from '../../src/shared/engine/engine.ts';
import { ask } from '../../src/manager/serve/control.ts';
import { systemClock } from '../../src/shared/base/clock.ts';
import type { HostRoot } from '../../src/shared/base/host-root.ts';
import type { DiskSpace } from '../../src/manager/machine/disk.ts';
import { NetworkIsolation } from '../../src/manager/docker/network-isolation.ts';
import type { FollowCommand } from '../../src/manager/machine/command.ts';
import { runDaemon } from '../../src/manager/daemon.ts';
import type { ManagerTools } from '../../src/manager/manager-tools.ts';
import { History } from '../../src/manager/history/history.ts';
import { Ring } from '../../src/manager/history/ring.ts';
import { RunStore } from '../../src/manager/runs/run-store.ts';
import { ownContainers } from '../../src/manager/docker/own-containers.ts';
import { Helpers } from '../../src/manager/docker/janitor.ts';
import { Archives } from '../../src/manager/machine/archives.ts';
import { AgentStore } from '../../src/manager/host-mode/agent-store.ts';
import { type HostEngine, withHostRuns } from '../../src/manager/host-mode/host-engine.ts';
import { Metrics } from '../../src/manager/serve/metrics.ts';
import type { KeyStock } from '../../src/manager/registration/keys.ts';
import { StateStore } from '../../src/manager/state.ts';
import { MovedClock } from './clock.ts';
import { StandInEngine } from './docker/engine.ts';
import type { StandInContainer } from './docker/state.ts';
import { hostRuns } from './host-runs.ts';
import { config } from './manager-config.ts';
import { killable } from './killable.ts';
import { printed, StandInPrograms } from './rig-programs.ts';
import { makeMachine, plugInGpu } from './rig-folders.ts';
import { sharedKeys } from './shared-keys.ts';
import { tokenClient, tokenUse } from './token-client.ts';
import { webhookTools } from './webhook-tools.ts';

/** Less than a test's own timeout, so that the failure shows the states. */
const longestMs = 180_000;

export { failed, printed } from './rig-programs.ts';

/**
 * The whole daemon in this process: real HTTP to a fake Azure DevOps server and to a stand-in dockerd. Each agent prints
 * the test's output; it listens as soon as it is started, unless the test changes that.
 */
export class ManagerRig {
  readonly directory = mkdtempSync(join(tmpdir(), 'manager-'));
  readonly #in = (name: string): string => join(this.directory, name);
  readonly tokenFile = this.#in('token');
  readonly socket = this.#in('manager.sock');
  /** Build context of the image, if it is built. */
  readonly context = this.#in('context');
  /** The machine's stand-in GPUs. */
  readonly root: HostRoot = { prefix: this.#in('root') };
  readonly docker: StandInEngine;
  readonly fake: RunningFake;
  readonly azure: AzureClient;
  readonly control: FakeControl;
  readonly poolId: number;
  readonly logged: { readonly level: LogLevel; readonly message: string; readonly fields: unknown }[] = [];
  readonly hostPrograms = new StandInPrograms();
  /** Answers of the host's programs by name; the default: there are none. */
  readonly programs = this.hostPrograms.programs;
  /** Last timeout of each program, milliseconds. */
  readonly deadlines = this.hostPrograms.deadlines;
  readonly command = this.hostPrograms.command;
  /** Followers of the kernel log, and of the routing rules. */
  readonly follow: FollowCommand = (program, _, onLine, signal) => {
    (program === 'ip' ? this.#rules : this.#kernel).add(onLine);
    return new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve({ complaint: '' }), { once: true });
    });
  };
  kernelLog = '';
  /** Notifications that were sent to systemd. */
  readonly notified: string[] = [];
  /** /proc/self/mountinfo of the machine. */
  mountinfo = '';
  /** Space on the disk of Docker. */
  disk: DiskSpace = { freeBytes: 1e12, totalBytes: 2e12, freeInodes: 1 };
  /** The daemon's. */
  readonly clock: MovedClock;
  readonly host: HostEngine;
  readonly #kernel = new Set<(line: string) => void>();
  readonly #rules = new Set<(line: string) => void>();
  #stop = new AbortController();
  #leave = new AbortController();
  #running: Promise<void> | undefined;
  #history: History | undefined;
  #life = { over: false };

  private constructor(
    docker: StandInEngine,
    fake: RunningFake,
    azure: AzureClient,
    poolId: number,
    speed: number,
  ) {
    this.docker = docker;
    this.fake = fake;
    this.azure = azure;
    this.poolId = poolId;
    this.clock = new MovedClock(speed);
    this.host = hostRuns(this.directory, this.command, createEngine(docker), this.clock);
    this.control = fakeControl(fake.origin);
    docker.onStart = (container) => this.listen(container);
    this.programs.set('ip', printed(''));
    makeMachine(this.root, this.context);
    writeFileSync(this.tokenFile, 'good-token\n');
  }

  /** `speed`: factor for the server's timeouts and the daemon. */
  static async create(speed = 100): Promise<ManagerRig> {
    const docker = await new StandInEngine().start();
    docker.addImage('registry.example/agent:1');
    const tokenFile = join(docker.directory, 'accepted');
    writeFileSync(tokenFile, 'good-token\n');
    const fake = await startFake({
      host: '127.0.0.1',
      port: 0,
      tokenFile,
      organization: 'lab',
      projects: ['vision'],
      clock: systemClock(speed),
    });
    const azure = tokenClient(fake.organization, tokenFile, systemClock(speed), new AbortController().signal);
    const { pool } = await azure.ensurePool('gpu-lab');
    return new ManagerRig(docker, fake, azure, pool.id, speed);
  }

  config(changes: Partial<ManagerConfig> = {}): ManagerConfig {
    return config({
      organization: this.fake.organization,
      agents: { kind: 'count', count: 2 },
      ...changes,
    });
  }

  /** Puts an NVIDIA GPU on the machine's PCI bus. Its nvidia-smi output comes from `programs`, run by sh. */
  plugIn(address: string): void {
    plugInGpu(this.root, address);
  }

  /** Writes a line into the kernel log and to its followers. */
  kernelSays(line: string): void {
    this.kernelLog += `${line}\n`;
    this.programs.set('dmesg', printed(this.kernelLog));
    for (const write of this.#kernel) write(line);
  }

  /** Writes a line to the followers of the routing rules, as `ip monitor rule` does. */
  rulesSay(line: string): void {
    for (const write of this.#rules) write(line);
  }

  /** Returns whether the kernel log has a follower. */
  get isFollowed(): boolean {
    return this.#kernel.size > 0;
  }

  /** Returns the engine that the daemon uses instead. */
  engineOf = (engine: Engine): Engine => engine;
  /** Returns the tools that the daemon uses instead. */
  toolsOf = (tools: ManagerTools): ManagerTools => tools;
  machine = { memoryMiB: 131_072, cpus: 64 };
  /** Content at the URL of the agent's archive. */
  archive = 'the agent';
  /** Tests the connection to the server. */
  connect: TryConnect = createTryConnect({ noProxy: [] });
  /** Agents' keys. Few, used by turns: making one takes long. */
  keys: KeyStock = sharedKeys;

  /** Starts the daemon, as systemd would. */
  async start(changes: Partial<ManagerConfig> = {}): Promise<void> {
    const config = this.config(changes);
    this.#stop = new AbortController();
    this.#leave = new AbortController();
    const life = { over: false };
    this.#life = life;
    const { signal } = this.#stop;
    const state = await StateStore.open(this.#in('state'), 'machine-1');
    const ring = new Ring(this.#in('state/history.jsonl'));
    const history = await History.open({ ring, clock: this.clock, log: silentLogger }, this.root);
    this.#history = history;
    const fetch: Fetch = () => Promise.resolve(new Response(this.archive));
    const archives = new Archives({ fetch, clock: this.clock, log: silentLogger, uploads: '/none', state });
    const token = tokenUse(this.tokenFile, this.clock);
    this.#running = runDaemon(
      this.toolsOf({
        config,
        signal,
        leaving: this.#leave.signal,
        keys: this.keys,
        metrics: new Metrics(),
        helpers: new Helpers(),
        token,
        secret: token.read,
        certificates: () => Promise.resolve(undefined),
        clock: this.clock,
        root: this.root,
        log: {
          log: (level, message, fields) => void this.logged.push({ level, message, fields }),
          redact: () => undefined,
        },
        engine: killable(
          this.engineOf(
            withHostRuns(
              ownContainers(createEngine({ socketPath: this.docker.socketPath }), () => state.owner),
              this.host,
            ),
          ),
          life,
        ),
        host: { engine: this.host, agents: new AgentStore(this.directory, archives, this.command) },
        azure: killable(tokenClient(config.organization, this.tokenFile, this.clock, signal, token), life),
        connect: (url, ended) => this.connect(url, ended),
        archives,
        state,
        runStore: new RunStore(this.#in('state/runs')),
        history,
        command: this.command,
        follow: this.follow,
        machine: this.machine,
        isolation: new NetworkIsolation({
          command: this.command,
          engine: createEngine(this.docker),
          log: silentLogger,
        }),
        process: this.hostPrograms.process,
        presence: () => Promise.resolve(this.hostPrograms.presence),
        webhook: webhookTools(this.directory),
        diskSpace: () => Promise.resolve(this.disk),
        mountinfo: () => Promise.resolve(this.mountinfo),
        containerdRoot: () => Promise.resolve('/var/lib/containerd'),
      }),
      {
        status: this.#in('status.json'),
        socket: this.socket,
        context: this.context,
        folders: this.#in('folders'),
        changes: this.#in('changes'),
        hostLock: this.#in('lock'),
      },
      {
        ready: async () => void this.notified.push('ready'),
        alive: async () => void this.notified.push('alive'),
        settled: async () => void this.notified.push('settled'),
        stopping: async () => void this.notified.push('stopping'),
        // One notification per pass.
        intervalMs: 0,
      },
      { configHash: 'hash', started: { program: '/opt/azp-fleet/versions/rig' } },
    );
  }

  /** SIGKILL: requests already sent are carried out, no others. */
  async kill(): Promise<void> {
    this.#life.over = true;
    await this.stop();
  }

  /** Sends the first Ctrl-C to a manager in a terminal; resolves when it has exited. */
  leave(): Promise<void> {
    this.#leave.abort();
    return this.#running ?? Promise.resolve();
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    this.#running = undefined;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.docker.close();
    await this.fake.close();
    rmSync(this.directory, { recursive: true, force: true });
  }

  listen({ id }: StandInContainer): void {
    this.docker.say(id, 'Scanning for tool capabilities.');
    this.docker.say(id, 'Connecting to the server.');
    this.docker.say(id, '2026-11-21 02:00:00Z: Listening for Jobs');
  }

  beginJob(name: string, job = 'train'): void {
    this.docker.say(name, `2026-11-21 02:00:01Z: Running job: ${job}`);
  }

  endJob(name: string, job = 'train', result = 'Succeeded'): void {
    this.docker.say(name, `2026-11-21 02:00:02Z: Job ${job} completed with result: ${result}`);
    this.docker.end(name, 0);
  }

  async status(): Promise<ManagerStatus> {
    return JSON.parse(await ask(this.socket, { method: 'GET', path: '/v1/status' })) as ManagerStatus;
  }

  async post(path: string, body: unknown): Promise<ManagerStatus> {
    return JSON.parse(await ask(this.socket, { method: 'POST', path, body })) as ManagerStatus;
  }

  async slot(name: string): Promise<SlotStatus> {
    const { slots } = await this.status();
    const slot = slots.find((candidate) => candidate.slot === name);
    if (slot === undefined) throw new Error(`no slot ${name} in ${JSON.stringify(slots)}`);
    return slot;
  }

  /** Waits until three checks of the GPUs have counted for the job of a slot. */
  async untilSampled(name: string): Promise<void> {
    const deadline = Date.now() + longestMs;
    const { run } = await this.slot(name);
    while ((this.#history?.useOf(run?.id ?? '')?.samples ?? 0) < 3) {
      if (Date.now() > deadline) throw new Error(`no samples of run ${run?.id}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Waits until all slots are in this state; the failure shows their states. */
  async until(state: SlotStatus['state'], slots: readonly string[] = ['0', '1']): Promise<void> {
    const deadline = Date.now() + longestMs;
    for (;;) {
      const status = await this.status().catch(() => undefined);
      const found = status?.slots.filter(({ slot }) => slots.includes(slot)) ?? [];
      if (found.length === slots.length && found.every((slot) => slot.state === state)) return;
      if (Date.now() > deadline) throw new Error(`not ${state}: ${JSON.stringify(status)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
