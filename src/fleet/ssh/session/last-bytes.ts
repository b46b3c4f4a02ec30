/**
 * The last bytes of a stream, in room of their own that never grows: each byte is copied once, however many chunks the
 * sender makes of it, and none of its chunks is kept.
 */
export class LastBytes {
  readonly #ring: Buffer;
  /** Where the next byte goes. */
  #at = 0;
  #held = 0;
  #whole = true;

  constructor(limit: number) {
    this.#ring = Buffer.alloc(limit);
  }

  push(chunk: Buffer): void {
    const limit = this.#ring.length;
    const last = chunk.length > limit ? chunk.subarray(chunk.length - limit) : chunk;
    const first = Math.min(last.length, limit - this.#at);
    last.copy(this.#ring, this.#at, 0, first);
    last.copy(this.#ring, 0, first);
    this.#at = (this.#at + last.length) % limit;
    this.#whole &&= this.#held + chunk.length <= limit;
    this.#held = Math.min(limit, this.#held + chunk.length);
  }

  /** Takes back what came last. */
  drop(bytes: number): void {
    const limit = this.#ring.length;
    const gone = Math.min(bytes, this.#held);
    this.#at = (this.#at - gone + limit) % limit;
    this.#held -= gone;
  }

  /** As UTF-8. Where the beginning is missing, it starts with a whole character. */
  toString(): string {
    const limit = this.#ring.length;
    const from = (this.#at - this.#held + limit) % limit;
    const bytes = Buffer.concat([this.#ring.subarray(from), this.#ring.subarray(0, from)], this.#held);
    let start = 0;
    while (!this.#whole && start < Math.min(3, bytes.length) && isContinuation(bytes[start])) start += 1;
    return bytes.toString('utf8', start);
  }
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >> 6 === 0b10;
}
