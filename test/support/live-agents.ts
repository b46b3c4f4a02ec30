import { setTimeout as delay } from 'node:timers/promises';

import { untar } from '../../src/shared/base/tar.ts';
import { AgentSession, SessionConflict } from './agent-session.ts';
import type { StandInContainer } from './docker/state.ts';
import type { ManagerRig } from './manager-rig.ts';

/** When a container of this agent ran, milliseconds since the epoch. */
export interface Life {
  readonly container: string;
  readonly agent: string;
  readonly from: number;
  /** Undefined: it still runs. */
  to?: number;
  /** dockerd has forgotten it; its process may continue. */
  isLost?: boolean;
}

/** The process in a container. It may outlive what dockerd knows of it. */
interface Process {
  readonly container: string;
  readonly agent: string;
  readonly killed: AbortController;
  readonly stopped: AbortController;
  /** Set while it runs a job: ends it. */
  finish: (() => void) | undefined;
  /** Its worker still runs, and reports the result of the job to the server. */
  hasWorker: boolean;
}

/** Agents that speak with the fake server from the rig's containers: they take the jobs they are given, and hold them. */
export class LiveAgents {
  readonly lives: Life[] = [];
  readonly #rig: ManagerRig;
  readonly #processes = new Set<Process>();

  constructor(rig: ManagerRig) {
    this.#rig = rig;
    const { docker } = rig;
    docker.onStart = (container) => this.#begin(container);
    const end = docker.end.bind(docker);
    docker.end = (name, code, how) => {
      const { id = '' } = docker.get(name) ?? {};
      this.#close(id);
      // `docker stop`, or the program's own end: it leaves in order.
      for (const process of this.#of(id)) process.stopped.abort();
      end(name, code, how);
    };
  }

  /** The job that this agent runs comes to its end. */
  finish(agent: string): void {
    for (const process of this.#processes) if (process.agent === agent) process.finish?.();
  }

  /** The job's worker is killed: the agent calls the job failed and leaves, and the server hears nothing of it. */
  killWorker(agent: string): void {
    for (const process of this.#processes) {
      if (process.agent !== agent) continue;
      process.hasWorker = false;
      process.finish?.();
    }
  }

  /** Kills the container's process; the server gets no report. */
  die(agent: string): void {
    const container = this.#running(agent);
    if (container === undefined) return;
    for (const process of this.#of(container.id)) process.killed.abort();
    this.#rig.docker.end(container.id, 137);
  }

  /** dockerd forgets the container; its process continues. */
  lose(agent: string): void {
    const container = this.#running(agent);
    if (container === undefined) return;
    this.#close(container.id);
    const life = this.lives.findLast((each) => each.container === container.id);
    if (life !== undefined) life.isLost = true;
    this.#rig.docker.containers.delete(container.id);
  }

  /** Processes without a container come to their end after all. */
  killLost(): void {
    for (const process of this.#processes)
      if (!this.#rig.docker.containers.has(process.container)) process.killed.abort();
  }

  #running(agent: string): StandInContainer | undefined {
    const container = this.#rig.docker.get(agent);
    return container?.state === 'running' ? container : undefined;
  }

  #of(container: string): readonly Process[] {
    return [...this.#processes].filter((process) => process.container === container);
  }

  #close(container: string): void {
    const life = this.lives.find((each) => each.container === container && each.to === undefined);
    if (life !== undefined) life.to = Date.now();
  }

  #begin(container: StandInContainer): void {
    const { id, name: agent } = container;
    this.lives.push({ container: id, agent, from: Date.now() });
    const process: Process = {
      container: id,
      agent,
      killed: new AbortController(),
      stopped: new AbortController(),
      finish: undefined,
      hasWorker: true,
    };
    this.#processes.add(process);
    void this.#live(process, container)
      .then(
        () => 0,
        () => 1,
      )
      .then((code) => {
        this.#processes.delete(process);
        if (!process.killed.signal.aborted) this.#rig.docker.end(id, code);
      });
  }

  async #live(process: Process, container: StandInContainer): Promise<void> {
    const say = (line: string): void => {
      if (this.#rig.docker.containers.has(process.container)) this.#rig.docker.say(process.container, line);
    };
    const over = AbortSignal.any([process.killed.signal, process.stopped.signal]);
    say('Scanning for tool capabilities.');
    say('Connecting to the server.');
    const session = await this.#connect(container, over, say);
    if (session === undefined) return;
    say('2026-11-21 02:00:00Z: Listening for Jobs');
    try {
      while (!over.aborted) {
        const job = await session.take(over);
        if (job === undefined) continue;
        say(`2026-11-21 02:00:01Z: Running job: ${job}`);
        await this.#work(process, session, over);
        if (over.aborted) return;
        if (process.hasWorker) await session.complete();
        const result = process.hasWorker ? 'Succeeded' : 'Failed';
        say(`2026-11-21 02:00:02Z: Job ${job} completed with result: ${result}`);
        return;
      }
    } finally {
      if (!process.killed.signal.aborted) await session.close();
    }
  }

  /** As the agent does: while the server has another session of its name, it asks again. */
  async #connect(
    container: StandInContainer,
    over: AbortSignal,
    say: (line: string) => void,
  ): Promise<AgentSession | undefined> {
    const [archive] = container.archives;
    const files = await untar(archive?.tar ?? Buffer.alloc(0));
    for (let told = false; !over.aborted; told = true) {
      try {
        return await AgentSession.open(files);
      } catch (error) {
        if (!(error instanceof SessionConflict)) throw error;
        if (!told) say('A session for this agent already exists.');
        await delay(30, undefined, { signal: over }).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** Holds the job's lock until the test ends it, or something else does. */
  async #work(process: Process, session: AgentSession, over: AbortSignal): Promise<void> {
    const finished = new AbortController();
    process.finish = () => finished.abort();
    const signal = AbortSignal.any([over, finished.signal]);
    while (!signal.aborted) {
      await session.renew();
      await delay(50, undefined, { signal }).catch(() => undefined);
    }
    process.finish = undefined;
  }
}
