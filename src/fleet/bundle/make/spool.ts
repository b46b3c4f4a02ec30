import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Member } from '../manifest.ts';

type Content = NodeJS.ReadableStream | Iterable<Buffer> | AsyncIterable<Buffer>;

/** A temporary folder beside the bundle's file for its members, each once, named by its sha256. */
export class Spool {
  readonly #folder: string;
  readonly #members = new Map<string, Member>();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async beside(file: string): Promise<Spool> {
    return new Spool(await mkdtemp(join(dirname(file), `.${basename(file)}.`)));
  }

  /** Returns a spool within this one, for files that are no members. */
  async nested(): Promise<Spool> {
    return new Spool(await mkdtemp(join(this.#folder, 'nested-')));
  }

  async add(content: Content, signal: AbortSignal): Promise<Member> {
    const hash = createHash('sha256');
    let size = 0;
    const part = join(this.#folder, randomUUID());
    await pipeline(
      Readable.from(content, { objectMode: false }),
      async function* measured(chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          size += chunk.length;
          yield chunk;
        }
      },
      createWriteStream(part, { mode: 0o600 }),
      { signal },
    );
    const member = { sha256: hash.digest('hex'), size };
    await rename(part, this.fileOf(member.sha256));
    this.#members.set(member.sha256, member);
    return member;
  }

  /** In the order of their digests, which is always the same. */
  get members(): readonly Member[] {
    return [...this.#members.values()].toSorted((a, b) => (a.sha256 < b.sha256 ? -1 : 1));
  }

  readonly fileOf = (sha256: string): string => join(this.#folder, sha256);

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
