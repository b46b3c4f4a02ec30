import { readerBounds } from '../base/reader-bounds.ts';

const headerBytes = 8;

/** Splits the engine's multiplexed stdout and stderr (8-byte header, then the payload) from chunks of any size. */
export class LogFrames {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const payloads: Buffer[] = [];
    while (rest.length >= headerBytes) {
      const end = headerBytes + rest.readUInt32BE(4);
      if (rest.length < end) break;
      payloads.push(rest.subarray(headerBytes, end));
      rest = rest.subarray(end);
    }
    this.#rest = rest;
    return payloads;
  }
}

/** Returns the text of a multiplexed log, its last `most` bytes, without an incomplete last frame. */
export async function newestText(log: AsyncIterable<Uint8Array>, most: number): Promise<string> {
  const frames = new LogFrames();
  let kept: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of log) {
    for (const payload of frames.push(Buffer.from(chunk))) {
      kept.push(payload);
      bytes += payload.length;
    }
    // Not at every chunk: each time copies what is kept.
    if (bytes < 2 * most) continue;
    kept = [Buffer.concat(kept).subarray(-most)];
    bytes = most;
  }
  return Buffer.concat(kept).subarray(-most).toString('utf8');
}

/** Characters kept of a line. */
export const longestLine: number = readerBounds.line.characters;
/** Characters kept of a JSON line of the engine: an event, a step of a build. */
export const longestMessage: number = readerBounds.engineMessage.characters;

/**
 * Splits a text that arrives in chunks into lines, each cut at `longest` characters; the incomplete last line is kept until
 * `end`. Each chunk is read once, so a line without an end costs no more than any other.
 */
export class Lines {
  #rest = '';
  readonly #longest: number;
  readonly #decoder = new TextDecoder();

  constructor(longest = longestLine) {
    this.#longest = longest;
  }

  push(chunk: Uint8Array): string[] {
    const text = this.#decoder.decode(chunk, { stream: true });
    const lines: string[] = [];
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      lines.push(this.#grown(text, from, end).replace(/\r$/, ''));
      this.#rest = '';
      from = end + 1;
    }
    this.#rest = this.#grown(text, from, text.length);
    return lines;
  }

  #grown(text: string, from: number, to: number): string {
    const left = this.#longest - this.#rest.length;
    return left > 0 ? this.#rest + text.slice(from, Math.min(to, from + left)) : this.#rest;
  }

  end(): string[] {
    const rest = this.#rest;
    this.#rest = '';
    return rest === '' ? [] : [rest];
  }
}
