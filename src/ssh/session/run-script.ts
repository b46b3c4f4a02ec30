import { constants } from 'node:os';

import type { Clock } from '../../base/machine/clock.ts';
import { FleetError } from '../../base/errors.ts';
import { connectionLost, interrupted } from '../failures.ts';
import { Output } from './output.ts';
import { type Running, startScript } from './start.ts';
import type { Sudo } from './sudo.ts';
import type { ScriptOptions, ScriptResult } from '../transport.ts';
import type { Ending, Wire } from '../wire/wire.ts';

const defaultTotalMs = 60_000;
/** Milliseconds until the script has begun: login shell, sudo and its PAM stack. */
const startMs = 30_000;
/** The host ends the script itself this much later than we give up, in case we are gone by then. */
const hostGraceS = 10;
/** Bytes of each stream: a script that writes more than this is not one of ours. */
const outputLimit = 64 * 1024 * 1024;
/** The same of what is passed on and not kept. */
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
  /** Sees stdout as it comes; the result then has none. */
  readonly tap?: (chunk: Buffer) => void;
}

/** Runs a script to its end under three clocks: start, silence, total. */
export async function runScript(parts: RunParts): Promise<ScriptResult> {
  const { host, options, clock } = parts;
  const totalMs = options.totalTimeoutMs ?? defaultTotalMs;
  const began = clock.monotonic();
  let running: Running | undefined;
  let stop: (error: FleetError) => void = () => undefined;
  const stopped = new Promise<never>((_resolve, reject) => {
    stop = (error) => {
      reject(error);
      cancel.abort();
      running?.kill();
    };
  });
  stopped.catch(() => undefined);
  const cancel = new AbortController();
  const clocks = new Clocks();
  const onLine = (line: string): void => options.onLine?.(line);
  const limit = options.outputLimit ?? outputLimit;
  const sink = (most: number, tellLine: (line: string) => void, tap?: RunParts['tap']): Output =>
    new Output({ limit: most, onLine: tellLine, onOverflow: () => stop(tooMuch(host, most)), tap });
  const out = sink(parts.tap === undefined ? limit : passedLimit, onLine, parts.tap);
  const err = sink(limit, parts.onErrorLine ?? onLine);
  const heard = (sink: Output) => (chunk: Buffer) => {
    sink.push(chunk);
    if (options.silenceTimeoutMs !== undefined) {
      clocks.set('silence', options.silenceTimeoutMs, () =>
        stop(timedOut(host, 'silent', options.silenceTimeoutMs ?? 0)),
      );
    }
  };
  const abort = (): void => stop(interrupted(host));
  if (options.signal?.aborted === true) throw interrupted(host);
  options.signal?.addEventListener('abort', abort, { once: true });
  clocks.set('start', startMs, () => stop(timedOut(host, 'start', startMs)));
  try {
    const starting = startScript(parts.wire, parts.sudo, {
      host,
      script: parts.text,
      as: options.as ?? 'root',
      input: parts.feed !== undefined,
      limitS: totalMs / 1000 + hostGraceS,
      onStdout: heard(out),
      onStderr: heard(err),
      pause: () => clocks.pause('start'),
      signal: cancel.signal,
    });
    starting.catch(() => undefined);
    running = await Promise.race([starting, stopped]);
    clocks.clear('start');
    clocks.set('total', totalMs, () => stop(timedOut(host, 'total', totalMs)));
    heard(out)(Buffer.alloc(0));
    parts.feed?.(running);
    const ending = await Promise.race([running.ended, stopped]);
    return {
      code: exitCode(host, ending),
      stdout: out.end(),
      stderr: err.end(),
      durationMs: Math.round(clock.monotonic() - began),
    };
  } finally {
    clocks.clearAll();
    options.signal?.removeEventListener('abort', abort);
  }
}

function exitCode(host: string, ending: Ending): number {
  if (ending.code !== null) return ending.code;
  if (ending.signal === undefined) throw connectionLost(host, 'a command');
  const signals: Readonly<Record<string, number | undefined>> = constants.signals;
  return 128 + (signals[`SIG${ending.signal.replace(/^SIG/, '')}`] ?? 0);
}

function timedOut(host: string, clock: 'start' | 'silent' | 'total', ms: number): FleetError {
  const what = {
    start: `no script could be started within ${ms / 1000} s of login`,
    silent: `a script said nothing for ${ms / 1000} s`,
    total: `a script took longer than ${ms / 1000} s`,
  }[clock];
  return new FleetError({
    code:
      clock === 'start'
        ? 'ssh.start-timeout'
        : clock === 'silent'
          ? 'ssh.silence-timeout'
          : 'ssh.script-timeout',
    host,
    what,
    next: 'look at the host: uptime; dmesg | tail   # heavy load, a hung file system or a hung GPU driver are the usual causes',
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

/** Named timers of which one can wait. */
class Clocks {
  readonly #timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly again: () => void }>();

  set(name: string, ms: number, expire: () => void): void {
    this.clear(name);
    this.#timers.set(name, { timer: setTimeout(expire, ms), again: () => this.set(name, ms, expire) });
  }

  pause(name: string): () => void {
    const again = this.#timers.get(name)?.again ?? (() => undefined);
    this.clear(name);
    return again;
  }

  clear(name: string): void {
    clearTimeout(this.#timers.get(name)?.timer);
    this.#timers.delete(name);
  }

  clearAll(): void {
    for (const name of this.#timers.keys()) this.clear(name);
  }
}
