import type { Clock } from '../../../src/shared/base/clock.ts';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import { agentName, poolOfSlot, slotNames } from '../../../src/shared/contract/slots.ts';
import { AgentProcess, type AgentTroubles } from './agent.ts';
import { modelClient } from './azure.ts';
import { Boundary } from './boundary.ts';
import { within } from './builtins.ts';
import { Chance } from './chance.ts';
import { Dockerd } from './containers.ts';
import { Disk } from './disk.ts';
import { modelEngine } from './engine.ts';
import { Judge, keyOf } from './judge.ts';
import { DaemonProcess, type Outsides } from './daemon-process.ts';
import { MachineFiles } from './machine-files.ts';
import { epoch, ModelServer } from './server.ts';
import { Timeline } from './timeline.ts';

/** An agent's name in its pool, and its slot. */
export interface Place {
  readonly slot: string;
  readonly agent: string;
  readonly poolId: number;
}

/** Time after which a user starts a machine that is off. */
const offMs = 30_000;

/** A machine with Docker, a server and agents, and the manager under test. */
export class World {
  readonly timeline = new Timeline();
  readonly chance: Chance;
  readonly boundary: Boundary;
  readonly server: ModelServer;
  readonly dockerd: Dockerd;
  readonly disk: Disk;
  readonly judge: Judge;
  readonly troubles: AgentTroubles = { networkUntil: 0, hanging: 0, undelivered: 0, mute: 0 };
  /** The manager's log and changes, with the world's time in seconds. */
  logged: string[] = [];
  config: ManagerConfig;
  daemon: DaemonProcess | undefined;
  /** How far the host's clock is ahead of the server's; milliseconds. */
  wallAhead = 0;
  /** A user is logged in during this time. */
  login = { from: 0, until: 0 };
  /** Number of power-offs because the machine was idle. */
  ends = 0;
  /** Docker's disk is almost full. */
  isTight = false;
  kills = 0;
  /** Number of deleted state files. */
  deletions = 0;
  passes = 0;
  starts = 0;
  readonly #files: MachineFiles;
  readonly #all = new Map<string, DaemonProcess>();
  #keys = 0;

  constructor(seed: number, config: ManagerConfig) {
    this.chance = new Chance(seed);
    this.config = config;
    const { timeline, chance } = this;
    this.boundary = new Boundary(timeline, chance);
    this.server = new ModelServer(timeline, chance);
    this.dockerd = new Dockerd(timeline, chance, () => this.clock.wall());
    this.disk = new Disk(
      () => timeline.now,
      () => this.clock.wall(),
    );
    this.#files = new MachineFiles(this.disk, this.boundary);
    this.judge = new Judge(this);
    this.boundary.onCall = (call) => {
      if (!/^(?:file|command)\./.test(call)) this.#note(call);
    };
    this.dockerd.onStart = (container) =>
      new AgentProcess(this, container, container.identity, !this.dockerd.broken.has(container.image));
    this.disk.onReplace = (path, before, after) => this.judge.rewrites(path, before, after);
    this.disk.folder('/state');
  }

  readonly clock: Clock = {
    monotonic: () => this.timeline.now,
    wall: () => epoch + this.timeline.now + this.wallAhead,
    scaled: (ms) => ms,
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const end = (): void => {
          appointment.cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const appointment = this.timeline.after(ms, end);
        if (signal?.aborted === true) end();
        else signal?.addEventListener('abort', end, { once: true });
      }),
  };

  /** Runs `work` with this world instead of the machine. */
  run<Value>(work: () => Promise<Value>): Promise<Value> {
    const { timeline, chance } = this;
    return within(
      {
        timeline,
        chance,
        file: async (path, name, given) => {
          const [daemon = ''] = path.split('/', 1);
          const known = this.#all.get(daemon);
          if (known === undefined) throw new Error(`no daemon process ${daemon}`);
          return this.#files.call(known, path.slice(daemon.length), name, given);
        },
      },
      work,
    );
  }

  /** Returns the configured agents. */
  places(): readonly Place[] {
    const { config, server } = this;
    return slotNames(config).map((slot) => ({
      slot,
      agent: agentName({ name: config.host, agentName: config.agentName }, slot),
      poolId: server.pools.find(({ name }) => name === poolOfSlot(config, slot))?.id ?? 0,
    }));
  }

  start(): void {
    if (this.daemon !== undefined) return;
    this.starts += 1;
    this.#note(`daemon process ${this.starts} starts`);
    const { judge } = this;
    judge.daemonStartedAt = this.timeline.now;
    judge.configured = new Set(this.places().map(({ agent, poolId }) => keyOf({ poolId, name: agent })));
    const number = this.starts;
    const daemon: DaemonProcess = new DaemonProcess(number, (created) => {
      this.#all.set(String(number), created);
      return this.#outsides(created);
    });
    this.daemon = daemon;
    daemon.ended.then(
      () => this.#noteEnd(daemon, 'without an error'),
      (error: unknown) =>
        this.#noteEnd(daemon, error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
  }

  /** SIGKILL. */
  kill(): void {
    const { daemon } = this;
    if (daemon === undefined) return;
    this.kills += 1;
    this.daemon = undefined;
    this.boundary.kill(daemon);
  }

  /** Sends SIGTERM; the process exits by itself. */
  stop(): void {
    const { daemon } = this;
    if (daemon === undefined) return;
    daemon.stop();
    daemon.ended.then(
      () => this.daemon === daemon && (this.daemon = undefined),
      () => undefined,
    );
    this.#stopping.add(daemon);
  }

  /** Sends a user's request to the manager; calls `then` after its answer. */
  order(path: string, body: object, then: () => void): void {
    const { daemon } = this;
    daemon?.ask('POST', path, body).then(
      () => {
        if (!daemon.over) then();
      },
      () => undefined,
    );
  }

  readonly #stopping = new Set<DaemonProcess>();

  #noteEnd(daemon: DaemonProcess, how: string): void {
    if (daemon.over || this.#stopping.has(daemon)) return;
    if (this.daemon === daemon) this.daemon = undefined;
    this.judge.breach(`the manager exited: ${how}`);
  }

  #outsides(daemon: DaemonProcess): Outsides {
    const { boundary, judge, dockerd, server, config, clock } = this;
    return {
      config,
      clock,
      engine: modelEngine(dockerd, boundary, judge, daemon),
      azure: modelClient(server, boundary, judge, daemon, clock),
      command: (program) =>
        boundary.call(daemon, `command.${program}`, () => {
          const isEnd = program === 'systemd-run';
          if (isEnd) this.#powerOff(daemon);
          return {
            code: isEnd || program === 'ip' ? 0 : 127,
            output: '',
            timedOut: false,
            stillRunning: () => false,
          };
        }),
      presence: () =>
        boundary.call(daemon, 'presence', () =>
          this.timeline.now < this.login.until
            ? [{ key: 'session', kind: 'visit', what: 'a user is logged in', next: 'log out' }]
            : [],
        ),
      diskSpace: () =>
        boundary.call(daemon, 'disk.getSpace', () => ({
          freeBytes: this.isTight ? 1e9 : 1e12,
          totalBytes: 2e12,
          freeInodes: 1,
        })),
      log: {
        log: (level, message, fields) => {
          if (daemon.over) return;
          this.#note(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
        },
        redact: () => undefined,
      },
      onState: (drains) => judge.knows(drains),
      onPass: () => {
        this.passes += 1;
        this.#noteOwner(daemon);
      },
      newKey: () =>
        boundary.call(daemon, 'keys.take', () => {
          this.#keys += 1;
          return Buffer.from(`key ${this.#keys}`).toString('base64');
        }),
    };
  }

  /** Powers the machine off; a user starts it again after a while. */
  #powerOff(daemon: DaemonProcess): void {
    const { timeline, dockerd, judge } = this;
    this.ends += 1;
    judge.ends();
    this.#note('the machine powers itself off');
    if (this.daemon === daemon) this.daemon = undefined;
    this.boundary.kill(daemon);
    dockerd.goDown(true);
    timeline.after(offMs, () => {
      dockerd.isUp = true;
      this.start();
    });
  }

  #note(call: string): void {
    this.logged.push(`${(this.timeline.now / 1000).toFixed(3)} ${call}`);
    if (this.logged.length > 400) this.logged.splice(0, 200);
  }

  /** A restarted manager keeps its identity. */
  #noteOwner({ owner }: DaemonProcess): void {
    if (owner === undefined) return;
    if (this.judge.owner === '') this.judge.owner = owner;
    else if (this.judge.owner !== owner) this.judge.breach('the manager changed its identity');
  }
}
