import { constants } from 'node:os';

import type { Clock } from '../../../shared/base/machine/clock.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import { connectionLost, interrupted, lookAtHost } from '../failures.ts';
import { Limit } from './limit.ts';
import { Output } from './output.ts';
import { type Running, startScript } from './start.ts';
import type { Sudo } from './sudo.ts';
import type { ScriptOptions, ScriptResult } from '../transport.ts';
import type { Ending, Wire } from '../wire/wire.ts';

const defaultTotalMs = 60_000;
/** The host ends the script itself this much later than we give up, in case we are gone by then. */
const hostGraceS = 10;
/** Bytes of each stream: a script that writes more than this is not one of ours. What people run says how much it may. */
const outputLimit = 4 * 1024 * 1024;
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

/** Runs a script to its end under three clocks: that of its start, silence, and the total. */
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
  const { silenceTimeoutMs } = options;
  const silence =
    silenceTimeoutMs === undefined
      ? undefined
      : new Limit(silenceTimeoutMs, () => stop(timedOut(host, 'silent', silenceTimeoutMs)));
  const total = new Limit(totalMs, () => stop(timedOut(host, 'total', totalMs)));
  const onLine = (line: string): void => options.onLine?.(line);
  const limit = options.outputLimit ?? outputLimit;
  const sink = (most: number, tellLine: (line: string) => void, tap?: RunParts['tap']): Output =>
    new Output({ limit: most, onLine: tellLine, onOverflow: () => stop(tooMuch(host, most)), tap });
  const out = sink(parts.tap === undefined ? limit : passedLimit, onLine, parts.tap);
  const err = sink(limit, parts.onErrorLine ?? onLine);
  const heard = (sink: Output) => (chunk: Buffer) => {
    sink.push(chunk);
    silence?.start();
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
      onStdout: heard(out),
      onStderr: heard(err),
      signal: cancel.signal,
    });
    starting.catch(() => undefined);
    running = await Promise.race([starting, stopped]);
    total.start();
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
    silence?.stop();
    total.stop();
    options.signal?.removeEventListener('abort', abort);
  }
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
        ? `a script said nothing for ${ms / 1000} s`
        : `a script took longer than ${ms / 1000} s`,
    next: lookAtHost,
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
