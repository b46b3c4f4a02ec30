import { generateAgentKey, type AgentKey } from '../../shared/azure/keys.ts';

/** Key pairs made ahead of need, so that no launch waits for one. */
export class KeyStock {
  readonly #size: number;
  readonly #ready: Promise<AgentKey>[] = [];

  constructor(size: number) {
    this.#size = size;
    this.#fill();
  }

  take(): Promise<AgentKey> {
    const key = this.#ready.shift() ?? generateAgentKey();
    this.#fill();
    return key;
  }

  /** One at a time: making keys must not take the processors from jobs. */
  #fill(): void {
    if (this.#ready.length >= this.#size) return;
    const key = generateAgentKey();
    this.#ready.push(key);
    void key.then(
      () => this.#fill(),
      () => undefined,
    );
  }
}
