import { systemClock, type Clock } from '../../src/shared/base/clock.ts';

/** A stopped clock: a wait passes at once and is recorded, and the test moves the wall clock. */
export class StillClock implements Clock {
  /** What was waited for, milliseconds. */
  readonly waits: number[] = [];
  /** How much the wall shows more than the time that has passed since the start of the test. */
  wallAhead = Date.parse('2026-11-21T12:00:00Z');
  #passed: number;

  constructor(passed = 0) {
    this.#passed = passed;
  }

  /** Time passes, for the wall, too. */
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

/** The machine's clocks, which the test may put forward and run at another speed. */
export class MovedClock implements Clock {
  /** How many times as fast its waits pass. */
  speed: number;
  /** Milliseconds that have passed at once. */
  passed = 0;
  /** How much more the wall shows than this machine's, milliseconds. */
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

/** A clock that advances only when the test says so, and wakes waiters in order. */
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

  /** Lets so many milliseconds pass. `settled`: resolves when all that was woken has done what it does. */
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

/** All that is to be done without waiting is done. */
async function turn(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
}
