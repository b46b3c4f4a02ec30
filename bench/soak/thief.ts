import { setTimeout as delay } from 'node:timers/promises';

import type { FakeJob } from '../../practice/azure/control/control.ts';
import { AgentSession, SessionConflict } from '../../test/support/agent-session.ts';
import { copiedKey } from './hostile.ts';

/** A key still works for the first seconds after a job, until the server has the next key. */
const openMs = 10_000;

/**
 * Tries every key that a job has copied, again and again from some seconds after the job's end until it is stopped:
 * while the next run is made, while the slot is drained, while other jobs run.
 */
export class Thief {
  /** `JOB: result`. */
  readonly loot = new Set<string>();
  /** How often a key was tried. */
  attempts = 0;
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;

  constructor(jobs: () => readonly FakeJob[], isWell: () => boolean) {
    this.#work = this.#steal(jobs, isWell);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #steal(jobs: () => readonly FakeJob[], isWell: () => boolean): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      for (const job of jobs()) {
        const key = copiedKey(job);
        if (key === undefined || job.state !== 'done' || !isWell()) continue;
        if (Date.now() - Date.parse(job.finishedAt ?? '') < openMs) continue;
        this.attempts += 1;
        const got = await AgentSession.open(key).then(
          (session) => session.close().then(() => 'a session'),
          (error: unknown) => (error instanceof SessionConflict ? 'a login' : undefined),
        );
        if (got !== undefined) this.loot.add(`${job.name}: ${got}`);
      }
      await delay(1500, undefined, { signal }).catch(() => undefined);
    }
  }
}
