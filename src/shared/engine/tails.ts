import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { extract } from 'tar-stream';

/** Limits for reading files of jobs, which may be hostile. */
export interface TailLimits {
  /** Most files. */
  readonly files: number;
  /** Last bytes of each file. */
  readonly fileBytes: number;
  /** Bytes of the whole stream. */
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

/** Keeps the last bytes of pushed chunks. */
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
 * Returns the ends of the regular files with accepted names in a tar archive. Of an archive that is too long, damaged or
 * incomplete, it returns the files read so far.
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
