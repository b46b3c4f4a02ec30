import { Writable } from 'node:stream';

import type { OutputStream } from './context.ts';
import type { Redactor } from './redact.ts';
import { escapeHidden } from './foreign-text.ts';

/** Milliseconds that a possible beginning of a secret waits for its end on a terminal. */
const holdMs = 100;

export interface GuardedOutput {
  /** The same output with control characters, to move the cursor, and without secrets. The caller must clean foreign text. */
  readonly unfiltered: OutputStream;
  /** The first error of a write, if its text is lost: the disk may be full. */
  readonly failure: () => Error | undefined;
  /** Writes the held text and removes the guard. */
  readonly finish: () => void;
}

/**
 * Sends everything written to the stream through the redactor, which also finds a secret written in two pieces, and through
 * the filter for control characters.
 */
export function guardOutput(stream: OutputStream, redactor: Redactor): GuardedOutput {
  const write = stream.write.bind(stream);
  let failure: Error | undefined;
  // The reader of a pipe may exit early (`| head`), and a terminal may be closed (EIO): neither is our failure.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') failure ??= error;
  });
  const filter = new OutputFilter();
  const guarded = redactor.stream();
  const plain = redactor.stream();
  let timer: NodeJS.Timeout | undefined;
  const send = (text: string): void => void (text !== '' && write(text));
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    send(filter.push(guarded.end()) + filter.end() + plain.end());
  };
  const flushSoon = (): void => {
    if (stream.isTTY && timer === undefined) timer = setTimeout(flush, holdMs).unref();
  };
  const guard = (
    chunk: string | Uint8Array,
    encoding?: BufferEncoding | ((error?: Error | null) => void),
    done?: (error?: Error | null) => void,
  ): boolean => {
    const callback = typeof encoding === 'function' ? encoding : done;
    const text = plain.end() + filter.push(guarded.push(textOf(chunk)));
    flushSoon();
    return write(text, callback);
  };
  stream.write = guard;
  const unfiltered = new Unfiltered(stream, (chunk) => {
    send(filter.push(guarded.end()) + filter.end() + plain.push(textOf(chunk)));
    flushSoon();
  });
  return {
    unfiltered,
    failure: () => failure,
    finish: () => {
      flush();
      stream.write = write;
    },
  };
}

function textOf(chunk: string | Uint8Array): string {
  return typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
}

/** Has the terminal properties of the stream that it writes to. */
class Unfiltered extends Writable {
  readonly #stream: OutputStream;
  readonly #send: (chunk: string | Uint8Array) => void;

  constructor(stream: OutputStream, send: (chunk: string | Uint8Array) => void) {
    super({ decodeStrings: false });
    this.#stream = stream;
    this.#send = send;
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true;
  }

  get columns(): number | undefined {
    return this.#stream.columns;
  }

  get rows(): number | undefined {
    return this.#stream.rows;
  }

  /** Ignores the end: an answered question ends its output, and ours stays open. */
  override end(): this {
    return this;
  }

  override _write(chunk: string | Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.#send(chunk);
    done();
  }
}

/** The styles of src/cli/render: weight and colours, each alone. */
const ownStyle = /(\u001b\[(?:[012]|22|3[0-7]|39|9[0-7])m)/;
/** The end of a chunk that may be the beginning of a style. */
const cutStyle = /\u001b(?:\[\d{0,2})?$/;

/**
 * The last filter before a terminal. Of all control characters only line feeds, tabs and our own styles pass; the rest is
 * escaped. Foreign text is cleaned where it is read; this catches what was missed there.
 */
export class OutputFilter {
  #held = '';

  /** Returns the text that may be written now. */
  push(chunk: string): string {
    const text = this.#held + chunk;
    this.#held = cutStyle.exec(text)?.[0] ?? '';
    return filtered(text.slice(0, text.length - this.#held.length));
  }

  /** Returns the rest, at the end of the stream. */
  end(): string {
    const rest = filtered(this.#held);
    this.#held = '';
    return rest;
  }
}

function filtered(text: string): string {
  return text
    .split(ownStyle)
    .map((part, index) => (index % 2 === 1 ? part : escapeHidden(part)))
    .join('');
}
