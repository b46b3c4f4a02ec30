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
import { Life, type Outsides } from './life.ts';
import { MachineFiles } from './machine-files.ts';
import { epoch, ModelServer } from './server.ts';
import { Timeline } from './timeline.ts';

/** An agent's name in its pool, and the slot that it is of. */
export interface Place {
  readonly slot: string;
  readonly agent: string;
  readonly poolId: number;
}

/** Time after which a user starts a machine that is off. */
const offMs = 30_000;

/** A machine with Docker, a server, agents, and the manager that is tried on them. */
export class World {
  readonly timeline = new Timeline();
  readonly chance: Chance;
  readonly boundary: Boundary;
  readonly server: ModelServer;
  readonly dockerd: Dockerd;
  readonly disk: Disk;
  readonly judge: Judge;
  readonly troubles: AgentTroubles = { networkUntil: 0, hanging: 0, undelivered: 0, mute: 0 };
  /** What the manager has logged, with the world's seconds, and what it has changed. */
  logged: string[] = [];
  config: ManagerConfig;
  life: Life | undefined;
  /** How much more the host's clock shows than the server's. */
  wallAhead = 0;
  /** A user is logged in during this time. */
  login = { from: 0, until: 0 };
  /** Number of power-offs without use. */
  ends = 0;
  /** Of Docker's disk. */
  isTight = false;
  kills = 0;
  passes = 0;
  lives = 0;
  readonly #files: MachineFiles;
  readonly #all = new Map<string, Life>();
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
    this.boundary.onCall = (told) => {
      if (!/^(?:file|command)\./.test(told)) this.#note(told);
    };
    this.dockerd.onStart = (container) =>
      new AgentProcess(this, container, container.identity, !this.dockerd.broken.has(container.image));
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
          const [life = ''] = path.split('/', 1);
          const known = this.#all.get(life);
          if (known === undefined) throw new Error(`no life ${life}`);
          return this.#files.call(known, path.slice(life.length), name, given);
        },
      },
      work,
    );
  }

  /** The agents that the configuration asks for. */
  places(): readonly Place[] {
    const { config, server } = this;
    return slotNames(config).map((slot) => ({
      slot,
      agent: agentName({ name: config.host, agentName: config.agentName }, slot),
      poolId: server.pools.find(({ name }) => name === poolOfSlot(config, slot))?.id ?? 0,
    }));
  }

  start(): void {
    if (this.life !== undefined) return;
    this.lives += 1;
    this.#note(`life ${this.lives} begins`);
    const { judge } = this;
    judge.lifeBeganAt = this.timeline.now;
    judge.configured = new Set(this.places().map(({ agent, poolId }) => keyOf({ poolId, name: agent })));
    const number = this.lives;
    const life: Life = new Life(number, (born) => {
      this.#all.set(String(number), born);
      return this.#outsides(born);
    });
    this.life = life;
    life.ended.then(
      () => this.#noteEnd(life, 'it ended by itself'),
      (error: unknown) =>
        this.#noteEnd(life, error instanceof Error ? (error.stack ?? error.message) : String(error)),
    );
  }

  /** SIGKILL. */
  kill(): void {
    const { life } = this;
    if (life === undefined) return;
    this.kills += 1;
    this.life = undefined;
    this.boundary.die(life);
  }

  /** SIGTERM; it ends in its own time. */
  stop(): void {
    const { life } = this;
    if (life === undefined) return;
    life.stop();
    life.ended.then(
      () => this.life === life && (this.life = undefined),
      () => undefined,
    );
    this.#stopping.add(life);
  }

  /** A person's word to the manager; `then` when it has said that it will. */
  order(path: string, body: object, then: () => void): void {
    const { life } = this;
    life?.ask('POST', path, body).then(
      () => {
        if (!life.over) then();
      },
      () => undefined,
    );
  }

  readonly #stopping = new Set<Life>();

  #noteEnd(life: Life, how: string): void {
    if (life.over || this.#stopping.has(life)) return;
    if (this.life === life) this.life = undefined;
    this.judge.breach(`the manager is not there any more: ${how}`);
  }

  #outsides(life: Life): Outsides {
    const { boundary, judge, dockerd, server, config, clock } = this;
    return {
      config,
      clock,
      engine: modelEngine(dockerd, boundary, judge, life),
      azure: modelClient(server, boundary, judge, life),
      command: (program) =>
        boundary.call(life, `command.${program}`, () => {
          const isEnd = program === 'systemd-run';
          if (isEnd) this.#powerOff(life);
          return {
            code: isEnd || program === 'ip' ? 0 : 127,
            output: '',
            timedOut: false,
            stillRunning: () => false,
          };
        }),
      presence: () =>
        boundary.call(life, 'presence', () =>
          this.timeline.now < this.login.until
            ? [{ key: 'session', kind: 'visit', what: 'a user is logged in', next: 'log out' }]
            : [],
        ),
      diskSpace: () =>
        boundary.call(life, 'disk.getSpace', () => ({
          freeBytes: this.isTight ? 1e9 : 1e12,
          totalBytes: 2e12,
          freeInodes: 1,
        })),
      log: {
        log: (level, message, fields) => {
          if (life.over) return;
          this.#note(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
        },
        redact: () => undefined,
      },
      onPass: () => {
        this.passes += 1;
        this.#noteOwner(life);
      },
      newKey: () =>
        boundary.call(life, 'keys.take', () => {
          this.#keys += 1;
          return Buffer.from(`key ${this.#keys}`).toString('base64');
        }),
    };
  }

  /** The machine ends, and a user starts it again after a while. */
  #powerOff(life: Life): void {
    const { timeline, dockerd, judge } = this;
    this.ends += 1;
    judge.ends();
    this.#note('the machine powers itself off');
    if (this.life === life) this.life = undefined;
    this.boundary.die(life);
    dockerd.goDown(true);
    timeline.after(offMs, () => {
      dockerd.isUp = true;
      this.start();
    });
  }

  #note(told: string): void {
    this.logged.push(`${(this.timeline.now / 1000).toFixed(3)} ${told}`);
    if (this.logged.length > 400) this.logged.splice(0, 200);
  }

  /** A restarted manager keeps its identity. */
  #noteOwner({ owner }: Life): void {
    if (owner === undefined) return;
    if (this.judge.owner === '') this.judge.owner = owner;
    else if (this.judge.owner !== owner) this.judge.breach('the manager has become a stranger to itself');
  }
}
