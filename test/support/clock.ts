import type { Clock } from '../../src/base/clock.ts';

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
