import { systemClock, type Clock } from '../../src/shared/base/clock.ts';

/** A stopped clock: a wait returns at once and is recorded; the test moves the wall clock. */
export class StillClock implements Clock {
  /** Recorded waits, milliseconds. */
  readonly waits: number[] = [];
  /** How far the wall clock is ahead of the time since the start of the test, milliseconds. */
  wallAhead = Date.parse('2026-11-21T12:00:00Z');
  #passed: number;

  constructor(passed = 0) {
    this.#passed = passed;
  }

  /** Advances both clocks. */
  pass(ms: number): void {
    this.#passed += ms;
  }

  readonly monotonic = (): number => this.#passed;

  readonly wall = (): number => this.#passed + this.wallAhead;

  readonly scaled = (ms: number): number => ms;

  readonly wait = (ms: number): Promise<void> => {
    this.waits.push(ms);
    this.pass(ms);
    return Promise.resolve();
  };
}

/** The machine's clocks, which the test may advance and speed up. */
export class MovedClock implements Clock {
  /** Factor by which waits are shortened. */
  speed: number;
  /** Milliseconds by which it was advanced. */
  passed = 0;
  /** How far the wall clock is ahead of this machine's, milliseconds. */
  wallAhead = 0;

  constructor(speed: number) {
    this.speed = speed;
  }

  readonly monotonic = (): number => performance.now() + this.passed;

  readonly wall = (): number => Date.now() + this.wallAhead;

  readonly scaled = (ms: number): number => ms / this.speed;

  readonly wait = (ms: number, signal?: AbortSignal): Promise<void> =>
    systemClock(this.speed).wait(ms, signal);
}

interface Timer {
  readonly at: number;
  readonly end: () => void;
}

/** A clock that only the test advances, and that wakes waiters in order. */
export class SimulatedClock implements Clock {
  #passed = 0;
  #timers: Timer[] = [];

  readonly monotonic = (): number => this.#passed;

  readonly wall = (): number => this.#passed + Date.parse('2026-11-21T12:00:00Z');

  readonly scaled = (ms: number): number => ms;

  readonly wait = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted === true) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = (): void => resolve();
    const timer = { at: this.#passed + ms, end };
    this.#timers.push(timer);
    signal?.addEventListener('abort', end, { once: true });
    await promise;
    signal?.removeEventListener('abort', end);
    this.#timers = this.#timers.filter((each) => each !== timer);
  };

  /** Advances by these milliseconds. `settled`: resolves when all woken work is done. */
  async pass(ms: number, settled: () => Promise<void> = turn): Promise<void> {
    const end = this.#passed + ms;
    for (;;) {
      await settled();
      const next = this.#timers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#passed = next.at;
      next.end();
    }
    this.#passed = end;
  }
}

/** Resolves when all work that does not wait is done. */
async function turn(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
}
