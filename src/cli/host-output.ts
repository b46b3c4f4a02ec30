import { createHash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

import { FleetError } from '../shared/base/errors.ts';
import type { Redactor } from '../shared/base/redact.ts';
import { LongText } from './render/envelope.ts';

/** Maximum bytes of a host's output in memory, both streams together. */
const mostInMemory = 1024 * 1024;
/** Bytes that are read from a file at a time. */
const pieceBytes = 64 * 1024;

export type StreamName = 'stdout' | 'stderr';
/** The output of a stream: text, or a file if the host's output is long. */
export type HostText = string | StoredText;

/**
 * Collects the output of one host's command. Beyond 1 MiB each stream is kept in a temporary file, without secrets. The
 * file has mode 0600 and no name, so that nothing is left of it when this process ends, however it ends.
 */
export class HostOutput {
  readonly #redactor: Pick<Redactor, 'stream'>;
  #memory = { stdout: new Memory(), stderr: new Memory() };
  #files: Readonly<Record<StreamName, OutputFile>> | undefined;

  constructor(redactor: Pick<Redactor, 'stream'>) {
    this.#redactor = redactor;
  }

  /** Throws `exec.output-file` if the output cannot be stored. */
  push(stream: StreamName, chunk: Buffer): void {
    try {
      const { stdout, stderr } = this.#memory;
      if (this.#files === undefined && stdout.size + stderr.size + chunk.length > mostInMemory)
        this.#moveToFiles();
      if (this.#files === undefined) this.#memory[stream].push(chunk);
      else this.#files[stream].push(chunk);
    } catch (error) {
      throw notStored(error);
    }
  }

  /** Ends the output and returns it. */
  end(): Readonly<Record<StreamName, HostText>> {
    const { stdout, stderr } = this.#files ?? this.#memory;
    try {
      return { stdout: stdout.end(), stderr: stderr.end() };
    } catch (error) {
      throw notStored(error);
    }
  }

  /** Removes what is stored. */
  discard(): void {
    this.#files?.stdout.close();
    this.#files?.stderr.close();
  }

  #moveToFiles(): void {
    const { stdout, stderr } = this.#memory;
    this.#files = { stdout: new OutputFile(this.#redactor), stderr: new OutputFile(this.#redactor) };
    this.#files.stdout.push(stdout.bytes());
    this.#files.stderr.push(stderr.bytes());
    this.#memory = { stdout: new Memory(), stderr: new Memory() };
  }
}

/** Bytes in one block that grows, so that small chunks need no more memory than large ones. */
class Memory {
  #block = Buffer.alloc(0);
  size = 0;

  push(chunk: Buffer): void {
    const size = this.size + chunk.length;
    if (size > this.#block.length) {
      const block = Buffer.allocUnsafe(Math.min(Math.max(4096, 2 * size), mostInMemory));
      this.bytes().copy(block);
      this.#block = block;
    }
    chunk.copy(this.#block, this.size);
    this.size = size;
  }

  bytes(): Buffer {
    return this.#block.subarray(0, this.size);
  }

  end(): string {
    return this.bytes().toString();
  }
}

/** A file that is written once. It is opened at the first byte. */
class OutputFile {
  readonly #redacted: ReturnType<Redactor['stream']>;
  readonly #decoder = new StringDecoder('utf8');
  readonly #hash = createHash('sha256');
  #file: number | undefined;

  constructor(redactor: Pick<Redactor, 'stream'>) {
    this.#redacted = redactor.stream();
  }

  push(chunk: Buffer): void {
    this.#write(this.#redacted.push(this.#decoder.write(chunk)));
  }

  end(): HostText {
    this.#write(this.#redacted.push(this.#decoder.end()) + this.#redacted.end());
    return this.#file === undefined ? '' : new StoredText(this.#file, this.#hash.digest('hex'));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #write(text: string): void {
    if (text === '') return;
    this.#file ??= openNameless();
    writeFileSync(this.#file, text);
    this.#hash.update(text);
  }
}

/** Creates a file for reading and writing that has no name any more. */
function openNameless(): number {
  const folder = mkdtempSync(join(tmpdir(), 'azp-fleet-'));
  try {
    return openSync(join(folder, 'output'), 'wx+', 0o600);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Text in a file that stays open until this process ends. */
class StoredText extends LongText {
  readonly #file: number;
  /** Equal for equal texts. */
  readonly digest: string;

  constructor(file: number, digest: string) {
    super();
    this.#file = file;
    this.digest = digest;
  }

  *pieces(): Generator<string> {
    const decoder = new StringDecoder('utf8');
    const bytes = Buffer.allocUnsafe(pieceBytes);
    for (let from = 0; ;) {
      const size = readSync(this.#file, bytes, 0, pieceBytes, from);
      if (size === 0) return;
      from += size;
      yield decoder.write(bytes.subarray(0, size));
    }
  }
}

function notStored(cause: unknown): FleetError {
  return new FleetError(
    {
      code: 'exec.output-file',
      what: 'the output of the command cannot be stored in a temporary file',
      seen: cause instanceof Error ? cause.message : String(cause),
      next: `free disk space in ${tmpdir()}, or set TMPDIR to another folder`,
    },
    { cause },
  );
}
