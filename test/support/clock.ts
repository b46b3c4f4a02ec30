import { systemClock, type Clock } from '../../src/base/machine/clock.ts';

/** A clock that stands still until the test says otherwise: a wait passes at once and is noted, the wall may jump. */
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
