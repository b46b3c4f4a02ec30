/** Passes something on at once, and then no more often than every `ms` milliseconds; what came meanwhile is told together. */
export class Pace {
  readonly #tell: () => void;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #pending = false;

  constructor(tell: () => void, ms: number) {
    this.#tell = tell;
    this.#ms = ms;
  }

  tell(): void {
    if (this.#timer !== undefined) {
      this.#pending = true;
      return;
    }
    this.#tell();
    this.#timer = setTimeout(() => this.#over(), this.#ms);
  }

  /** Nothing is told any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#pending = false;
  }

  #over(): void {
    this.#timer = undefined;
    if (!this.#pending) return;
    this.#pending = false;
    this.tell();
  }
}
