import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';

/** How much of files that somebody else writes is read: all of it may be hostile. */
export interface TailLimits {
  /** So many at most. */
  readonly files: number;
  /** Of each its last bytes. */
  readonly fileBytes: number;
  /** Where they come in one stream: of that. */
  readonly streamBytes: number;
}

/** The end of one file. */
export interface FileTail {
  /** Without its folders. */
  readonly name: string;
  /** Of the whole file. */
  readonly bytes: number;
  readonly end: Buffer;
}

/** The last bytes of what is pushed. */
class Tail {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    for (let [first] = this.#chunks; first !== undefined; [first] = this.#chunks) {
      if (this.#bytes - first.length < this.#limit) break;
      this.#chunks.shift();
      this.#bytes -= first.length;
    }
  }

  get end(): Buffer {
    const all = Buffer.concat(this.#chunks);
    return all.subarray(Math.max(0, all.length - this.#limit));
  }
}

/**
 * The ends of the regular files of a tar archive whose name is accepted. An archive that is too long, damaged or cut off
 * gives what was read until then.
 */
export async function archiveTails(
  archive: Readable,
  accepts: (name: string) => boolean,
  limits: TailLimits,
): Promise<readonly FileTail[]> {
  const found: { readonly name: string; readonly bytes: number; readonly tail: Tail }[] = [];
  const reader = extract();
  reader.on('entry', ({ name: path, type, size }, content, next) => {
    const name = path.split('/').at(-1) ?? '';
    content.on('end', next);
    if (type !== 'file' || !accepts(name) || found.length >= limits.files) {
      content.resume();
      return;
    }
    const tail = new Tail(limits.fileBytes);
    found.push({ name, bytes: size ?? 0, tail });
    content.on('data', (chunk: Buffer) => tail.push(chunk));
  });
  await pipeline(upTo(archive, limits.streamBytes), reader).catch(() => undefined);
  return found.map(({ name, bytes, tail }) => ({ name, bytes, end: tail.end }));
}

async function* upTo(stream: Readable, limit: number): AsyncIterable<Buffer> {
  let left = limit;
  for await (const chunk of stream) {
    yield chunk as Buffer;
    left -= (chunk as Buffer).length;
    if (left <= 0) return;
  }
}
