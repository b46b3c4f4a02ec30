import type { AzureClient } from '../../../src/shared/azure/client.ts';
import { AgentKey } from '../../../src/shared/azure/keys.ts';
import type { Clock } from '../../../src/shared/base/clock.ts';
import { Secret } from '../../../src/shared/base/secret.ts';
import type { Logger } from '../../../src/shared/base/log.ts';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import type { Engine } from '../../../src/shared/engine/engine.ts';
import { runDaemon } from '../../../src/manager/daemon.ts';
import { NetworkIsolation } from '../../../src/manager/docker/network-isolation.ts';
import { Helpers } from '../../../src/manager/docker/janitor.ts';
import { ownContainers } from '../../../src/manager/docker/own-containers.ts';
import type { AgentStore } from '../../../src/manager/host-mode/agent-store.ts';
import { withHostRuns } from '../../../src/manager/host-mode/host-engine.ts';
import type { RunCommand } from '../../../src/manager/machine/command.ts';
import type { ReadPresence } from '../../../src/manager/idle/presence.ts';
import type { DiskSpace } from '../../../src/manager/machine/disk.ts';
import type { KeyStock } from '../../../src/manager/registration/keys.ts';
import { History } from '../../../src/manager/history/history.ts';
import { Ring } from '../../../src/manager/history/ring.ts';
import { RunStore } from '../../../src/manager/runs/run-store.ts';
import { ask } from '../../../src/manager/serve/control.ts';
import { Metrics } from '../../../src/manager/serve/metrics.ts';
import type { DrainEntries } from '../../../src/manager/slots/drains.ts';
import { TokenUse } from '../../../src/manager/start/token-use.ts';
import { StateStore } from '../../../src/manager/state.ts';
import { hostRuns } from '../host-runs.ts';
import type { Killable } from './boundary.ts';
import { worldRoot } from './builtins.ts';

/** Everything outside the manager process. */
export interface Outsides {
  readonly config: ManagerConfig;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly azure: AzureClient;
  readonly command: RunCommand;
  readonly diskSpace: () => Promise<DiskSpace>;
  readonly presence: ReadPresence;
  readonly log: Logger;
  /** Called with the drains of the state that the process has read. */
  readonly onState: (drains: DrainEntries) => void;
  /** Called at the end of each pass. */
  readonly onPass: () => void;
  /** Moduli of fresh keys. */
  readonly newKey: () => Promise<string>;
}

/** One process of the manager, from its start until it exits or is killed. */
export class DaemonProcess implements Killable {
  over = false;
  /** The daemon's exit; rejects with its error. */
  readonly ended: Promise<void>;
  /** Owner of its agents, once known. */
  owner: string | undefined;
  readonly #stop = new AbortController();
  readonly #root: string;

  /** `number`: unique per process. */
  constructor(number: number, outsides: (daemon: DaemonProcess) => Outsides) {
    this.#root = `${worldRoot}${number}`;
    this.ended = this.#run(outsides(this));
  }

  /** Aborted by SIGTERM. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** SIGTERM. */
  stop(): void {
    this.#stop.abort();
  }

  /** A call of its control socket; rejects while no manager listens, never resolves when the manager exits before its answer. */
  ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<string> {
    return ask(`${this.#root}/run/manager.sock`, { method, path, ...(body === undefined ? {} : { body }) });
  }

  async #run({
    config,
    clock,
    engine,
    azure,
    command,
    diskSpace,
    presence,
    log,
    onState,
    onPass,
    newKey,
  }: Outsides): Promise<void> {
    const at = (path: string): string => `${this.#root}${path}`;
    const state = await StateStore.open(at('/state'), 'machine-1');
    this.owner = state.owner;
    onState(state.value.drain);
    const ring = new Ring(at('/state/history.jsonl'));
    const history = await History.open({ ring, clock, log }, { prefix: at('/root') });
    const host = hostRuns(at('/state'), command, engine, clock);
    const { signal } = this.#stop;
    const secret = async () => new Secret('secret');
    await runDaemon(
      {
        config,
        clock,
        signal,
        leaving: new AbortController().signal,
        engine: withHostRuns(
          ownContainers(engine, () => state.owner),
          host,
        ),
        azure,
        state,
        command,
        log,
        root: { prefix: at('/root') },
        host: { engine: host, agents: { path: async () => at('/store') } as unknown as AgentStore },
        connect: async () => undefined,
        archives: { digest: async () => 'sha256' },
        runStore: new RunStore(at('/state/runs')),
        history,
        keys: { take: async () => keyOf(await newKey()) } as unknown as KeyStock,
        token: new TokenUse({ read: secret, installed: secret, machineId: 'machine-1', clock }),
        secret,
        certificates: async () => undefined,
        metrics: new Metrics(),
        helpers: new Helpers(),
        isolation: new NetworkIsolation({ command, engine, log }, async () => false),
        follow: (_, __, ___, ended) =>
          new Promise((resolve) => {
            ended.addEventListener('abort', () => resolve({ complaint: '' }), { once: true });
          }),
        process: async () => undefined,
        presence,
        machine: { memoryMiB: 131_072, cpus: 16 },
        webhook: { fetch: unreached, address: unreached },
        diskSpace,
        mountinfo: () => Promise.resolve(''),
        containerdRoot: async () => '/var/lib/containerd',
      },
      {
        status: at('/run/status.json'),
        socket: at('/run/manager.sock'),
        context: at('/context'),
        folders: at('/state/folders'),
        changes: at('/state/changes'),
        hostLock: at('/run/lock'),
      },
      {
        ready: async () => undefined,
        alive: async () => onPass(),
        settled: async () => undefined,
        stopping: async () => undefined,
        intervalMs: 0,
      },
      { configHash: 'hash', started: { program: '/opt/azp-fleet/versions/model' } },
    );
  }
}

/** Real keys take a tenth of a second each. */
function keyOf(modulus: string): AgentKey {
  const part = 'AQ';
  const rest = { d: part, p: part, q: part, dp: part, dq: part, qi: part };
  return new AgentKey({ n: Buffer.from(modulus, 'base64').toString('base64url'), e: 'AQAB', ...rest });
}

/** No world of the model has a webhook. */
function unreached(): Promise<never> {
  return Promise.reject(new Error('there is no webhook'));
}
