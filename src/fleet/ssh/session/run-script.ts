import { constants } from 'node:os';
import { StringDecoder } from 'node:string_decoder';

import { FleetError } from '../../../shared/base/errors.ts';
import type { Clock } from '../../../shared/base/clock.ts';
import { connectionLost, interrupted, checkHostLoad } from '../failures.ts';
import type { ScriptOptions, ScriptResult } from '../transport.ts';
import type { Ending, Wire } from '../wire/wire.ts';
import { Limit, type Running, startScript } from './start.ts';
import type { Sudo } from './sudo.ts';

const defaultTotalMs = 60_000;
/** Seconds after our limit when the host ends the script itself, in case the connection is lost. */
const hostGraceS = 10;
/** Maximum bytes of each stream: none of our scripts writes more. For users' commands, the caller sets it. */
const outputLimit = 4 * 1024 * 1024;
/** Maximum bytes of a stream that is not kept. */
const passedLimit = 1024 * 1024 * 1024;

export interface RunParts {
  readonly wire: Wire;
  readonly sudo: Sudo;
  readonly host: string;
  readonly clock: Clock;
  readonly text: string;
  readonly options: ScriptOptions;
  /** Feeds standard input once the script runs; it must end the stream. */
  readonly feed?: (running: Running) => void;
  /** Takes the lines of stderr instead of `onLine`. */
  readonly onErrorLine?: (line: string) => void;
  /** Gets stdout in chunks; the result then has none. */
  readonly tap?: (chunk: Buffer) => void;
}

/** Runs a script to its end with three time limits: start, silence, and total. */
export async function runScript(parts: RunParts): Promise<ScriptResult> {
  const { host, options, clock } = parts;
  const totalMs = options.totalTimeoutMs ?? defaultTotalMs;
  const began = clock.monotonic();
  let running: Running | undefined;
  let stop: (error: unknown) => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = (error) => {
      reject(error);
      cancel.abort();
      running?.kill();
    };
  });
  stopped.catch(() => undefined);
  const cancel = new AbortController();
  const { silenceTimeoutMs } = options;
  const silence =
    silenceTimeoutMs === undefined
      ? undefined
      : new Limit(silenceTimeoutMs, () => stop(timedOut(host, 'silent', silenceTimeoutMs)));
  const total = new Limit(totalMs, () => stop(timedOut(host, 'total', totalMs)));
  const { out, err } = outputsOf(parts, (error) => stop(error));
  const receive = (sink: Output) => (chunk: Buffer) => {
    if (cancel.signal.aborted) return;
    try {
      sink.push(chunk);
      silence?.start();
    } catch (error) {
      stop(error);
    }
  };
  const abort = (): void => stop(interrupted(host));
  if (options.signal?.aborted === true) throw interrupted(host);
  options.signal?.addEventListener('abort', abort, { once: true });
  try {
    const starting = startScript(parts.wire, parts.sudo, {
      host,
      script: parts.text,
      as: options.as ?? 'root',
      input: parts.feed !== undefined,
      limitS: totalMs / 1000 + hostGraceS,
      onStdout: receive(out),
      onStderr: receive(err),
      signal: cancel.signal,
    });
    starting.catch(() => undefined);
    running = await Promise.race([starting, stopped]);
    total.start();
    receive(out)(Buffer.alloc(0));
    parts.feed?.(running);
    const ending = await Promise.race([running.ended, stopped]);
    return {
      code: exitCode(host, ending),
      stdout: out.end(),
      stderr: err.end(),
      durationMs: Math.round(clock.monotonic() - began),
    };
  } finally {
    silence?.stop();
    total.stop();
    options.signal?.removeEventListener('abort', abort);
  }
}

/** Returns the collectors of both streams. `stop` ends a script that writes too much. */
function outputsOf(
  { host, options, onErrorLine, tap }: RunParts,
  stop: (error: FleetError) => void,
): { readonly out: Output; readonly err: Output } {
  const { onLine, onOutput, outputLimit: limit = outputLimit } = options;
  const sink = (most: number, report: OutputParts['onLine'], taken: RunParts['tap']): Output =>
    new Output({ limit: most, onLine: report, onOverflow: () => stop(tooMuch(host, most)), tap: taken });
  const passedOn = (stream: 'stdout' | 'stderr') =>
    onOutput && ((chunk: Buffer): void => onOutput(stream, chunk));
  return {
    out: sink(tap === undefined ? limit : passedLimit, onLine, tap ?? passedOn('stdout')),
    err: sink(limit, onErrorLine ?? onLine, passedOn('stderr')),
  };
}

function exitCode(host: string, ending: Ending): number {
  if (ending.code !== null) return ending.code;
  if (ending.signal === undefined) throw connectionLost(host, 'a command');
  const signals: Readonly<Record<string, number | undefined>> = constants.signals;
  return 128 + (signals[`SIG${ending.signal.replace(/^SIG/, '')}`] ?? 0);
}

function timedOut(host: string, clock: 'silent' | 'total', ms: number): FleetError {
  return new FleetError({
    code: clock === 'silent' ? 'ssh.silence-timeout' : 'ssh.script-timeout',
    host,
    what:
      clock === 'silent'
        ? `a script wrote nothing for ${ms / 1000} s`
        : `a script took longer than ${ms / 1000} s`,
    next: checkHostLoad,
  });
}

function tooMuch(host: string, limit: number): FleetError {
  return new FleetError({
    code: 'ssh.output-too-long',
    host,
    what: `a script wrote more than ${limit / 1024 / 1024} MiB`,
    next: 'limit the output of the command, or write it to a file on the host',
  });
}

/** Maximum characters of one line: a longer one is passed on in pieces. */
const longestLine = 65_536;
/** Lines of one stream that are all passed on: more than any of our changes writes. */
const mostReported = 10_000;
const newLine = 10;
/** Size of a memory block in bytes: doubles the memory, within these limits. */
const block = { least: 4096, most: 1024 * 1024 };

interface OutputParts {
  /** Bytes of the whole stream. */
  readonly limit: number;
  /** Gets each line; after 10 000 lines only the last one of each chunk. Without it the bytes are not split into lines. */
  readonly onLine: ((line: string) => void) | undefined;
  /** Called when the limit is exceeded; later bytes are dropped. */
  readonly onOverflow: () => void;
  /** Gets the bytes in chunks; the result then has none. */
  readonly tap?: ((chunk: Buffer) => void) | undefined;
}

/**
 * Collects one stream; handles UTF-8 cut by a chunk boundary. Scans each byte only once, because the sender chooses the
 * size of the chunks.
 */
export class Output {
  readonly #parts: OutputParts;
  readonly #decoder = new StringDecoder('utf8');
  #blocks: Buffer[] = [];
  #kept = 0;
  /** Free bytes of the last block. */
  #free = 0;
  #size = 0;
  #line: string[] = [];
  #lineLength = 0;
  #reported = 0;

  constructor(parts: OutputParts) {
    this.#parts = parts;
  }

  push(chunk: Buffer): void {
    const { limit, onLine, onOverflow, tap } = this.#parts;
    if (this.#size > limit) return;
    this.#size += chunk.length;
    if (this.#size > limit) return onOverflow();
    if (tap === undefined) this.#keep(chunk);
    else tap(chunk);
    if (onLine === undefined) return;
    this.#take(this.#decoder.write(this.#reported < mostReported ? chunk : this.#skip(chunk)));
  }

  /** Returns all output. */
  end(): string {
    this.#take(this.#decoder.end());
    if (this.#lineLength > 0) this.#reportLine();
    return Buffer.concat(this.#blocks, this.#kept).toString();
  }

  /** Allocates memory in blocks: no byte is copied twice, however small the chunks are. */
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
      this.#reportLine();
      from = end + 1;
    }
    this.#grow(text.slice(from));
    if (this.#lineLength > longestLine) this.#reportLine();
  }

  /** Returns the chunk from its last complete line on: earlier lines are not shown. */
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

  #reportLine(): void {
    const line = this.#line.join('');
    this.#line = [];
    this.#lineLength = 0;
    this.#reported += 1;
    this.#parts.onLine?.(line);
  }
}
