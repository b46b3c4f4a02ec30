import { Writable } from 'node:stream';

import type { OutputStream } from './context.ts';
import type { Redactor } from './redact.ts';
import { escapeHidden } from './foreign-text.ts';

/** Milliseconds that the possible beginning of a secret may wait for its end on a terminal. */
const holdMs = 100;

interface GuardedOutput {
  /** The same output without the net: what moves the cursor passes, secrets do not. Whoever writes here cleans. */
  readonly unfiltered: OutputStream;
  /** Writes what is still held back, and takes the guard away. */
  readonly finish: () => void;
}

/**
 * From now on everything written to the stream goes through the redactor, also a secret that is written in two
 * pieces, and through the net for control characters.
 */
export function guardOutput(stream: OutputStream, redactor: Redactor): GuardedOutput {
  const write = stream.write.bind(stream);
  // The reader of a pipe may leave early (`| head`), and a terminal be closed (EIO): that is no failure of ours.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
  });
  const net = new OutputNet();
  const guarded = redactor.stream();
  const plain = redactor.stream();
  let timer: NodeJS.Timeout | undefined;
  const send = (text: string): void => void (text !== '' && write(text));
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    send(net.push(guarded.end()) + net.end() + plain.end());
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
    const text = plain.end() + net.push(guarded.push(textOf(chunk)));
    flushSoon();
    return write(text, callback);
  };
  stream.write = guard;
  const unfiltered = new Unfiltered(stream, (chunk) => {
    send(net.push(guarded.end()) + net.end() + plain.push(textOf(chunk)));
    flushSoon();
  });
  return {
    unfiltered,
    finish: () => {
      flush();
      stream.write = write;
    },
  };
}

function textOf(chunk: string | Uint8Array): string {
  return typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
}

/** Looks like the stream that it writes to. */
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

  /** A question ends its output when it is answered; ours goes on. */
  override end(): this {
    return this;
  }

  override _write(chunk: string | Uint8Array, _encoding: BufferEncoding, done: () => void): void {
    this.#send(chunk);
    done();
  }
}

/** The styles that src/cli/render paints with: weight and colours, each alone. */
const ownStyle = /(\u001b\[(?:[012]|22|3[0-7]|39|9[0-7])m)/;
/** The end of a chunk that may be the beginning of one. */
const cutStyle = /\u001b(?:\[\d{0,2})?$/;

/**
 * The last net before a terminal: of all that a terminal obeys only line feeds, tabs and our own styles pass; the rest is
 * escaped. What others say is cleaned where it comes in; whatever slips through there ends here.
 */
export class OutputNet {
  #held = '';

  /** What may be written now. */
  push(chunk: string): string {
    const text = this.#held + chunk;
    this.#held = cutStyle.exec(text)?.[0] ?? '';
    return netted(text.slice(0, text.length - this.#held.length));
  }

  /** The rest, at the end of the stream. */
  end(): string {
    const rest = netted(this.#held);
    this.#held = '';
    return rest;
  }
}

function netted(text: string): string {
  return text
    .split(ownStyle)
    .map((part, index) => (index % 2 === 1 ? part : escapeHidden(part)))
    .join('');
}
