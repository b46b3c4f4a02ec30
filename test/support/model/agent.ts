import { epoch, type Entry, type Job, type ModelServer, type Session } from './server.ts';
import type { Chance } from './chance.ts';
import type { Timeline } from './timeline.ts';

/** What an agent runs in: a container, or a unit of systemd. */
export interface Vessel {
  say(line: string): void;
  /** The main process has ended. */
  ended(code: number): void;
}

/** Faults of agents. */
export interface AgentTroubles {
  /** Agents cannot reach the server until this time. */
  networkUntil: number;
  /** Number of agents that will not exit after their job. */
  hanging: number;
  /** Number of results that will not reach the server. */
  undelivered: number;
  /** Number of agents that will print nothing and never listen. */
  mute: number;
}

interface AgentWorld {
  readonly timeline: Timeline;
  readonly chance: Chance;
  readonly server: ModelServer;
  readonly troubles: AgentTroubles;
}

/** The three files of a registration, as far as they matter. */
export interface Identity {
  readonly agentId: number;
  readonly name: string;
  readonly poolId: number;
  /** Modulus. */
  readonly key: string;
}

const conflictRetryMs = 30_000;
const conflictEndsMs = 212_000;
const renewMs = 60_000;

/** One agent that takes one job: its output and its session. */
export class AgentProcess implements Session {
  silentSince: number | undefined;
  /** Undefined: it found no registration. */
  readonly identity: Identity | undefined;
  over = false;
  /** The job that it runs; undefined after it has reported the end. */
  job: Job | undefined;
  /** It does not exit by itself. */
  hangs = false;
  /** It has taken its one job. */
  #hadJob = false;
  /** What it does after a pause; undefined: it is not paused. */
  #delayed: (() => void)[] | undefined;
  #entry: Entry | undefined;
  readonly #world: AgentWorld;
  readonly #vessel: Vessel;

  /** `works`: the agent of the image listens. */
  constructor(world: AgentWorld, vessel: Vessel, identity: Identity | undefined, works: boolean) {
    this.#world = world;
    this.#vessel = vessel;
    this.identity = identity;
    const { chance } = world;
    if (!works)
      this.#soon(chance.between(50, 800), () => this.#leave('cannot execute: required file not found', 127));
    else if (identity === undefined)
      this.#soon(chance.between(50, 500), () => this.#leave('Agent is not configured.', 1));
    else if (world.troubles.mute > 0) world.troubles.mute -= 1;
    else this.#soon(chance.between(200, 1_500), () => this.#connect(world.timeline.now));
  }

  /** It has a session with the server and waits for a job, or runs one. */
  get listens(): boolean {
    return this.#entry?.session === this;
  }

  get runsJob(): boolean {
    return !this.over && this.job !== undefined;
  }

  /** Its processes are frozen: it neither polls nor renews its job. */
  pause(): void {
    if (this.over) return;
    this.#delayed = [];
    this.silentSince = this.#world.timeline.now;
  }

  resume(): void {
    const delayed = this.#delayed;
    if (this.over || delayed === undefined) return;
    this.#delayed = undefined;
    if (!this.hangs) this.silentSince = undefined;
    for (const work of delayed) work();
    const entry = this.#entry;
    if (entry === undefined || this.over) return;
    if (entry.session !== this) return this.reconnect();
    // The message of a job waits for the next poll.
    const job = this.#world.server.assigned(entry);
    if (job !== undefined && !job.received) this.#soon(50, () => job.entry === entry && this.offer(job));
  }

  offer(job: Job): void {
    if (this.over || this.#hadJob || this.#delayed !== undefined) return;
    this.#hadJob = true;
    this.job = job;
    this.#world.server.renew(job);
    this.#say(`Running job: job-${job.id}`);
    this.#renewing(job);
    this.#soon(job.takesMs, () => this.#finish(job));
  }

  /** Its login is refused at the next poll; it exits without a message. */
  forbid(): void {
    this.#soon(this.#world.chance.between(500, 50_000), () => this.#end(0));
  }

  /** Ends its job now. */
  hurry(): void {
    const { job } = this;
    if (job !== undefined && !this.over && this.#delayed === undefined) this.#finish(job);
  }

  /** SIGINT: cancels its job and exits. */
  interrupt(): void {
    if (this.over || this.hangs) return;
    this.#vessel.say('Exiting...');
    if (this.job !== undefined) this.#world.server.finish(this.job, 'canceled');
    this.job = undefined;
    this.#soon(this.#world.chance.between(30, 900), () => this.#end(0));
  }

  /** Kills it, or its machine. The server gets no report. */
  kill(code = 137): void {
    if (this.over) return;
    this.over = true;
    this.silentSince = this.#world.timeline.now;
    this.job = undefined;
    this.#vessel.ended(code);
  }

  /** Connects again after the server lost its session. */
  reconnect(): void {
    if (!this.over && this.identity !== undefined && this.#delayed === undefined)
      this.#connect(this.#world.timeline.now);
  }

  #connect(since: number): void {
    const { timeline, server, troubles, chance } = this.#world;
    const { identity } = this;
    if (identity === undefined) return;
    if (timeline.now < troubles.networkUntil) {
      this.#leave('An error occurred: Connection refused (dev.azure.com:443)', 2);
      return;
    }
    this.#vessel.say('Scanning for tool capabilities.');
    this.#vessel.say('Connecting to the server.');
    const entry = server.byId(identity.poolId, identity.agentId);
    if (entry === undefined) {
      this.#leave('The agent no longer exists on the server. Please reconfigure the agent.', 1);
    } else if (entry.key !== identity.key) {
      this.#leave('An error occurred: The client is not registered.', 2);
    } else if (server.begin(entry, this)) {
      this.#entry = entry;
      if (this.job === undefined) this.#say('Listening for Jobs');
    } else if (timeline.now - since >= conflictEndsMs) {
      this.#leave('Stop retry on SessionConflictException after retried for 240 seconds.', 1);
    } else {
      this.#vessel.say('A session for this agent already exists.');
      this.#soon(conflictRetryMs + chance.between(0, 500), () => this.#connect(since));
    }
  }

  #renewing(job: Job): void {
    this.#soon(renewMs, () => {
      if (this.job !== job || job.result !== undefined) return;
      this.#world.server.renew(job);
      this.#renewing(job);
    });
  }

  #finish(job: Job): void {
    if (this.job !== job) return;
    const { troubles, server, chance } = this.#world;
    const isLost = troubles.undelivered > 0;
    if (isLost) {
      troubles.undelivered -= 1;
      this.#say(`Job job-${job.id} completed with result: Failed`);
    } else {
      server.finish(job, 'succeeded');
      this.#say(`Job job-${job.id} completed with result: Succeeded`);
    }
    this.job = undefined;
    if (troubles.hanging > 0) {
      troubles.hanging -= 1;
      this.hangs = true;
      this.silentSince = this.#world.timeline.now;
      return;
    }
    if (isLost)
      this.#soon(300, () => this.#leave('An error occurred: Connection refused (dev.azure.com:443)', 2));
    else this.#soon(chance.between(30, 1_500), () => this.#end(0));
  }

  /** Prints its last lines; the session stays open if the server is unreachable. */
  #leave(line: string, code: number): void {
    this.#vessel.say(line);
    this.#soon(50, () => this.#end(code));
  }

  #end(code: number): void {
    const { server, timeline } = this.#world;
    this.over = true;
    if (code === 2) this.silentSince = timeline.now;
    else if (this.#entry !== undefined) server.end(this.#entry, this);
    this.#vessel.ended(code);
  }

  #say(line: string): void {
    const time = new Date(epoch + this.#world.timeline.now).toISOString();
    this.#vessel.say(`${time.slice(0, 10)} ${time.slice(11, 19)}Z: ${line}`);
  }

  #soon(ms: number, work: () => void): void {
    this.#world.timeline.after(ms, () => {
      if (this.over) return;
      if (this.#delayed === undefined) work();
      else this.#delayed.push(work);
    });
  }
}
