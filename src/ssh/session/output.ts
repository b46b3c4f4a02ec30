import { StringDecoder } from 'node:string_decoder';

/** Characters of one line: what has no end by then is told in pieces. */
const longestLine = 1024 * 1024;

export interface OutputParts {
  /** Bytes of the whole stream. */
  readonly limit: number;
  readonly onLine: (line: string) => void;
  /** There is more than that. What comes after it is dropped. */
  readonly onOverflow: () => void;
  /** Sees the bytes as they come; the result then has none. */
  readonly tap?: ((chunk: Buffer) => void) | undefined;
}

/**
 * Collects one stream; UTF-8 cut by a chunk boundary stays whole. The sender chooses how large the chunks are, so what has
 * come already is not looked at again with each of them.
 */
export class Output {
  readonly #parts: OutputParts;
  readonly #decoder = new StringDecoder('utf8');
  #bytes = Buffer.alloc(0);
  #kept = 0;
  #size = 0;
  #line: string[] = [];
  #lineLength = 0;

  constructor(parts: OutputParts) {
    this.#parts = parts;
  }

  push(chunk: Buffer): void {
    const { limit, onOverflow, tap } = this.#parts;
    if (this.#size > limit) return;
    this.#size += chunk.length;
    if (this.#size > limit) return onOverflow();
    if (tap === undefined) this.#keep(chunk);
    else tap(chunk);
    this.#take(this.#decoder.write(chunk));
  }

  /** All of it. */
  end(): string {
    this.#take(this.#decoder.end());
    if (this.#lineLength > 0) this.#tell();
    return this.#bytes.toString('utf8', 0, this.#kept);
  }

  /** Room is doubled, so that each byte is copied twice at most, on average. */
  #keep(chunk: Buffer): void {
    const needed = this.#kept + chunk.length;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(
        Math.max(needed, Math.min(2 * this.#bytes.length, this.#parts.limit)),
      );
      this.#bytes.copy(larger, 0, 0, this.#kept);
      this.#bytes = larger;
    }
    chunk.copy(this.#bytes, this.#kept);
    this.#kept = needed;
  }

  #take(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.#grow(text.slice(from, end));
      this.#tell();
      from = end + 1;
    }
    this.#grow(text.slice(from));
    if (this.#lineLength > longestLine) this.#tell();
  }

  #grow(text: string): void {
    if (text === '') return;
    this.#line.push(text);
    this.#lineLength += text.length;
  }

  #tell(): void {
    const line = this.#line.join('');
    this.#line = [];
    this.#lineLength = 0;
    this.#parts.onLine(line);
  }
}
