import { readerBounds } from '../../shared/base/reader-bounds.ts';
import { decode, encode, type Entry } from './entries.ts';
import { KeptFacts, type Line, Thinning } from './retention.ts';
import { diskFiles, type RingFiles } from './ring-files.ts';

/** Size after a compaction at most, so that the next one is far away. */
const target = 0.75;
const sliceBytes = 64 * 1024;
const newline = 0x0a;

/** Sizes of a ring; exported for tests. */
export interface RingLimits {
  readonly bytes: number;
}

/**
 * A history file: one entry a line, oldest first. It is written by appending whole groups of lines, and by replacing it with a
 * shorter one. After a kill at any time it has the lines from before; a torn line is skipped.
 */
export class Ring {
  readonly #path: string;
  readonly #files: RingFiles;
  readonly #most: number;
  /** The latest write; the next one waits for it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    path: string,
    files: RingFiles = diskFiles,
    { bytes: most }: RingLimits = readerBounds.historyFile,
  ) {
    this.#path = path;
    this.#files = files;
    this.#most = most;
  }

  /** Appends entries in one write, of very long ones only the newest. `now`: seconds since the epoch, for a compaction if they do not fit. */
  append(entries: readonly Exclude<Entry, { kind: 'other' }>[], now: number): Promise<void> {
    // The first line break ends a line that an earlier write left torn.
    const text = Buffer.from(`\n${newest(entries.map(encode), this.#most * (1 - target) - 1).join('')}`);
    return this.#inTurn(async () => {
      const size = await this.#files.size(this.#path);
      if (size + text.length > this.#most) await this.#compact(now);
      await this.#files.append(this.#path, text);
    });
  }

  /** Drops and thins old entries. Kept facts stay. */
  compact(now: number): Promise<void> {
    return this.#inTurn(() => this.#compact(now));
  }

  /** Reads the entries, slice by slice. What is appended later is not among them. */
  async *entries(): AsyncGenerator<Entry> {
    for await (const { entry } of this.#lines()) yield entry;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #compact(now: number): Promise<void> {
    const facts = new KeptFacts();
    let bytes = 0;
    for await (const text of this.#thinned(now, (entry) => facts.add(entry))) bytes += sizeOf(text);
    const kept = facts.lines();
    bytes += kept.reduce((sum, text) => sum + sizeOf(text), 0);
    let surplus = Math.max(0, bytes - this.#most * target);
    const thinned = this.#thinned(now);
    const lines = async function* lines(): AsyncGenerator<string> {
      yield* kept;
      for await (const text of thinned) {
        if (surplus > 0) surplus -= sizeOf(text);
        else yield text;
      }
    };
    await this.#files.replace(this.#path, slices(lines()));
  }

  async *#thinned(now: number, seen: (entry: Entry) => void = () => undefined): AsyncGenerator<string> {
    const thinning = new Thinning(now);
    for await (const line of this.#lines()) {
      seen(line.entry);
      yield* thinning.add(line);
    }
    yield* thinning.end();
  }

  async *#lines(): AsyncGenerator<Line> {
    const { bytes: longest } = readerBounds.historyLine;
    let rest: Buffer = Buffer.alloc(0);
    for await (const slice of this.#files.slices(this.#path, 2 * this.#most, sliceBytes)) {
      let from = 0;
      const all = Buffer.concat([rest, slice]);
      for (let end = all.indexOf(newline); end !== -1; end = all.indexOf(newline, from)) {
        const line = lineOf(all.subarray(from, end));
        if (line !== undefined) yield line;
        from = end + 1;
      }
      // Of a line without an end only so much is kept that it counts as too long.
      rest = all.subarray(from, from + longest + 1);
    }
    const last = lineOf(rest);
    if (last !== undefined) yield last;
  }
}

function lineOf(bytes: Buffer): Line | undefined {
  if (bytes.length === 0 || bytes.length > readerBounds.historyLine.bytes) return undefined;
  const text = bytes.toString('utf8');
  const entry = decode(text);
  return entry && { text, entry };
}

/** Returns the last lines of these bytes at most, each with its line break. */
function newest(lines: readonly string[], bytes: number): readonly string[] {
  let left = bytes;
  const first = lines.findLastIndex((line) => (left -= sizeOf(line)) < 0);
  return lines.slice(first + 1).map((line) => `${line}\n`);
}

function sizeOf(text: string): number {
  return Buffer.byteLength(text) + 1;
}

/** Joins lines to buffers of about a slice. */
async function* slices(lines: AsyncIterable<string>): AsyncGenerator<Buffer> {
  let slice: string[] = [];
  let characters = 0;
  for await (const line of lines) {
    slice.push(`${line}\n`);
    characters += line.length;
    if (characters < sliceBytes) continue;
    yield Buffer.from(slice.join(''));
    slice = [];
    characters = 0;
  }
  if (slice.length > 0) yield Buffer.from(slice.join(''));
}
