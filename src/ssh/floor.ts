/** The person's attention, for one host's questions at a time, in the order of asking. */
export class Floor {
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

/** A login hung up because the person is talking to another host: come back with the floor. */
export class HungUp extends Error {}

/**
 * One host's part of it. A login that needs the person while another host has the floor hangs up and dials again when
 * it is its turn: an sshd gives up on a login that stands still, after two minutes by default.
 */
export class Conversation {
  readonly #floor: Floor | undefined;
  #mine: boolean;

  /** Without a floor it may always talk: jump hosts, on which others wait who may have the floor. */
  constructor(floor: Floor | undefined) {
    this.#floor = floor;
    this.#mine = floor === undefined;
  }

  /** Throws HungUp when another host is talking. */
  begin(): void {
    this.#mine ||= this.#floor?.take() ?? true;
    if (!this.#mine) throw new HungUp('the person is talking to another host');
  }

  async wait(): Promise<void> {
    if (this.#mine) return;
    await this.#floor?.wait();
    this.#mine = true;
  }

  end(): void {
    if (this.#mine) this.#floor?.giveUp();
    this.#mine = false;
  }
}
