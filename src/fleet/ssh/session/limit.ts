/** A time limit: it can be started anew, and does not run while somebody is asked for a password. */
export class Limit {
  readonly #ms: number;
  readonly #expire: () => void;
  #timer: NodeJS.Timeout | undefined;
  #paused = false;

  constructor(ms: number, expire: () => void) {
    this.#ms = ms;
    this.#expire = expire;
  }

  start(): void {
    this.stop();
    this.#timer = setTimeout(this.#expire, this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#paused = false;
  }

  /** Stands still until the function that it returns is called, and begins anew then. */
  pause(): () => void {
    const ran = this.#timer !== undefined;
    this.stop();
    this.#paused = ran;
    return () => {
      if (this.#paused) this.start();
    };
  }
}
