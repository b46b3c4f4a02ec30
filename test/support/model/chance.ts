/** Random numbers from a seed: the same seed gives the same numbers. */
export class Chance {
  #state: number;

  /** Any integer. */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 to below 1 (mulberry32). */
  readonly real = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  between(low: number, high: number): number {
    return low + this.real() * (high - low);
  }

  /** Returns true with this probability. */
  is(often: number): boolean {
    return this.real() < often;
  }
}
