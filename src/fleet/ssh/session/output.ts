import { StringDecoder } from 'node:string_decoder';

/** Characters of one line: what has no end by then is told in pieces. */
const longestLine = 65_536;
/** Lines of one stream that are told each: more than any change of ours writes. */
const mostTold = 10_000;
const newLine = 10;
/** Bytes that room is made for at a time: as many as there are already, within these. */
const block = { least: 4096, most: 1024 * 1024 };

export interface OutputParts {
  /** Bytes of the whole stream. */
  readonly limit: number;
  /** Gets each line as it comes; after some thousands only the last one of what comes together. */
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
  #blocks: Buffer[] = [];
  #kept = 0;
  /** Bytes of the last block. */
  #free = 0;
  #size = 0;
  #line: string[] = [];
  #lineLength = 0;
  #told = 0;

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
    this.#take(this.#decoder.write(this.#told < mostTold ? chunk : this.#skip(chunk)));
  }

  /** All of it. */
  end(): string {
    this.#take(this.#decoder.end());
    if (this.#lineLength > 0) this.#tell();
    return Buffer.concat(this.#blocks, this.#kept).toString();
  }

  /** Room is made in blocks: nothing is copied twice, however small the chunks are. */
  #keep(chunk: Buffer): void {
    for (let from = 0; from < chunk.length;) {
      const last = this.#blocks.at(-1);
      if (last === undefined || this.#free === 0) {
        this.#free = Math.min(Math.max(block.least, this.#kept), block.most);
        this.#blocks.push(Buffer.allocUnsafe(this.#free));
        continue;
      }
      const copied = chunk.copy(last, last.length - this.#free, from);
      from += copied;
      this.#kept += copied;
      this.#free -= copied;
    }
  }

  #take(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n', from); end !== -1; end = text.indexOf('\n', from)) {
      this.#grow(text.slice(from, end));
      this.#tell();
      from = end + 1;
    }
    this.#grow(text.slice(from));
    if (this.#lineLength > longestLine) this.#tell();
  }

  /** From the beginning of the last whole line: what is before it is left out, and nobody reads it. */
  #skip(chunk: Buffer): Buffer {
    const end = chunk.lastIndexOf(newLine);
    const before = end > 0 ? chunk.lastIndexOf(newLine, end - 1) : -1;
    if (before === -1) return chunk;
    this.#decoder.end();
    this.#line = [];
    this.#lineLength = 0;
    return chunk.subarray(before + 1);
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
    this.#told += 1;
    this.#parts.onLine(line);
  }
}
