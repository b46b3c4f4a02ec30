import { inspect } from 'node:util';

/** A value that must never be printed. Every conversion to text yields `***`; only `reveal()` returns it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The clear text. Call it only where the value is written to a pipe, a 0600 file or an HTTP header. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '***';
  }

  toJSON(): string {
    return '***';
  }

  [inspect.custom](): string {
    return '***';
  }
}
