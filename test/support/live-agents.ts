import { setTimeout as delay } from 'node:timers/promises';

import { AgentSession, SessionConflict } from './agent-session.ts';
import { agentFilesIn, type StandInContainer } from './docker/state.ts';
import type { ManagerRig } from './manager-rig.ts';

/** The time span in which a container of this agent ran, milliseconds since the epoch. */
export interface Life {
  readonly container: string;
  readonly agent: string;
  readonly from: number;
  /** Undefined: still running. */
  to?: number;
  /** dockerd has forgotten it; its process may continue. */
  isForgotten?: boolean;
}

/** The process in a container. It may continue after dockerd forgot the container. */
interface Process {
  readonly container: string;
  readonly agent: string;
  readonly killed: AbortController;
  readonly stopped: AbortController;
  /** Ends the running job; undefined without one. */
  finish: (() => void) | undefined;
  /** Whether the worker runs, which reports the result of the job to the server. */
  hasWorker: boolean;
}

/** Agents in the rig's containers that log in to the fake server, take jobs, and run them until the test finishes them. */
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
      // After `docker stop` or its own exit, the agent closes its session.
      for (const process of this.#of(id)) process.stopped.abort();
      end(name, code, how);
    };
  }

  /** Ends this agent's job. */
  finish(agent: string): void {
    for (const process of this.#processes) if (process.agent === agent) process.finish?.();
  }

  /** Kills the job's worker: the agent prints that the job failed and exits, and the server gets no result. */
  killWorker(agent: string): void {
    for (const process of this.#processes) {
      if (process.agent !== agent) continue;
      process.hasWorker = false;
      process.finish?.();
    }
  }

  /** Kills the container's process; the server gets no report. */
  kill(agent: string): void {
    const container = this.#running(agent);
    if (container === undefined) return;
    for (const process of this.#of(container.id)) process.killed.abort();
    this.#rig.docker.end(container.id, 137);
  }

  /** Makes dockerd forget the container; its process continues. */
  forgetContainer(agent: string): void {
    const container = this.#running(agent);
    if (container === undefined) return;
    this.#close(container.id);
    const life = this.lives.findLast((each) => each.container === container.id);
    if (life !== undefined) life.isForgotten = true;
    this.#rig.docker.containers.delete(container.id);
  }

  /** Kills the processes whose containers dockerd forgot. */
  killForgotten(): void {
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

  /** Opens a session; retries while the server has another session of this name, like the real agent. */
  async #connect(
    container: StandInContainer,
    over: AbortSignal,
    say: (line: string) => void,
  ): Promise<AgentSession | undefined> {
    const files = await agentFilesIn(container);
    for (let isReported = false; !over.aborted; isReported = true) {
      try {
        return await AgentSession.open(files);
      } catch (error) {
        if (!(error instanceof SessionConflict)) throw error;
        if (!isReported) say('A session for this agent already exists.');
        await delay(30, undefined, { signal: over }).catch(() => undefined);
      }
    }
    return undefined;
  }

  /** Renews the job's lock until the job is finished or the agent stops. */
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
