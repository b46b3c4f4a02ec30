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

/** The text of a whole multiplexed log; what a cut left of the last frame is dropped. */
export function logText(raw: Buffer): string {
  return Buffer.concat(new LogFrames().push(raw)).toString('utf8');
}

/** Nobody needs more of a line; without an end one could fill the memory. */
const longestLine = 1024 * 1024;

/** Lines of a text that arrives in pieces; the unfinished last one is kept until `end`. */
export class Lines {
  #rest = '';
  readonly #decoder = new TextDecoder();

  push(chunk: Uint8Array): string[] {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = (lines.pop() ?? '').slice(0, longestLine);
    return lines.map((line) => line.replace(/\r$/, ''));
  }

  end(): string[] {
    const rest = this.#rest;
    this.#rest = '';
    return rest === '' ? [] : [rest];
  }
}
