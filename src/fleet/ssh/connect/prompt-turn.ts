/** The person's attention, for one host's questions at a time, in the order of asking. */
export class PromptQueue {
  #taken = false;
  readonly #waiting: (() => void)[] = [];

  /** Takes it when it is free. */
  take(): boolean {
    if (this.#taken) return false;
    this.#taken = true;
    return true;
  }

  /** Resolves when it is ours. */
  async wait(): Promise<void> {
    if (this.take()) return;
    await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  /** Hands it to who waits longest. */
  giveUp(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#taken = false;
    else next();
  }
}

/** A login hung up because the person is talking to another host: come back when it is its turn. */
export class HungUp extends Error {}

/**
 * One host's part of it. A login that needs the person while another host is asking hangs up and dials again when
 * it is its turn: an sshd gives up on a login that stands still, after two minutes by default.
 */
export class PromptTurn {
  readonly #queue: PromptQueue | undefined;
  #mine: boolean;

  /** Without a queue it may always ask: jump hosts, on which the host whose turn it is may be waiting. */
  constructor(queue: PromptQueue | undefined) {
    this.#queue = queue;
    this.#mine = queue === undefined;
  }

  /** Throws HungUp when another host is talking. */
  begin(): void {
    this.#mine ||= this.#queue?.take() ?? true;
    if (!this.#mine) throw new HungUp('the person is talking to another host');
  }

  async wait(): Promise<void> {
    if (this.#mine) return;
    await this.#queue?.wait();
    this.#mine = true;
  }

  end(): void {
    if (this.#mine) this.#queue?.giveUp();
    this.#mine = false;
  }
}
