import type { Secret } from '../../shared/base/secret.ts';
import type { Cause } from '../model.ts';

interface Refusing {
  readonly problems: readonly Pick<Cause, 'code'>[];
  lookSoon(): void;
}

/** Has pools that refuse the credential looked at again as soon as there is another one. */
export class NewToken {
  readonly #read: () => Promise<Secret>;
  readonly #pools: Refusing;
  /** The one that was refused; undefined: none is, or it could not be read. */
  #refused: Secret | undefined;
  #isRefused = false;

  constructor(read: () => Promise<Secret>, pools: Refusing) {
    this.#read = read;
    this.#pools = pools;
  }

  /** Reads it only while it is refused. Never rejects. */
  async look(): Promise<void> {
    const was = this.#isRefused;
    this.#isRefused = this.#pools.problems.some(({ code }) => code === 'azure.auth');
    if (!this.#isRefused) return;
    const now = await this.#read().catch(() => undefined);
    if (was && now !== undefined && now.reveal() !== this.#refused?.reveal()) this.#pools.lookSoon();
    this.#refused = now;
  }
}
