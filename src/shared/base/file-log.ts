import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

import { timestamp, type Clock } from './clock.ts';
import { FleetError } from './errors.ts';
import { foreignLines, escapeHidden } from './foreign-text.ts';
import type { Logger, LogLevel } from './log.ts';
import { Redactor } from './redact.ts';

export interface FileLogger extends Logger {
  readonly path: string;
  close(): void;
}

const mib = 1024 * 1024;
/** Maximum bytes in one log: of all debug lines, of the debug lines of one host, and of all other lines. */
export const logLimits = { debug: 32 * mib, host: 2 * mib, rest: 4 * mib };

/**
 * Opens the debug log: JSON lines `{at, level, message, …fields}` in a file that only its owner can read. It writes
 * synchronously, so that a crash loses no line. At a limit it writes one line about the omission. `redactor` is shared with
 * the other sinks, so that a secret is registered once.
 */
export function createFileLogger(
  path: string,
  clock: Clock,
  redactor: Redactor = new Redactor(),
): FileLogger {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, 'a', 0o600);
  const budget = new Budget();
  let open = true;
  const write = (level: LogLevel, message: string, fields: Readonly<Record<string, unknown>>): void => {
    const line = JSON.stringify({ at: timestamp(clock), level, message, ...fields }, plain);
    const bytes = Buffer.from(`${escapeHidden(redactor.text(line))}\n`);
    budget.add(level, fields['host'], bytes.length);
    try {
      writeSync(file, bytes);
    } catch {
      // The disk may be full; the program continues without its log.
    }
  };
  return {
    path,
    log(level, message, fields = {}) {
      if (!open) return;
      const full = budget.full(level, fields['host']);
      if (full === undefined) return write(level, message, fields);
      if (full.isNew) write('warn', `debug log limit reached: omitting further lines of ${full.of}`, {});
    },
    redact: (secret) => redactor.add(secret),
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
}

/** Counts the written bytes against `logLimits`. */
class Budget {
  readonly #used = { debug: 0, rest: 0 };
  readonly #byHost = new Map<string, number>();
  readonly #reported = new Set<string>();

  add(level: LogLevel, host: unknown, bytes: number): void {
    this.#used[level === 'debug' ? 'debug' : 'rest'] += bytes;
    if (level === 'debug' && typeof host === 'string')
      this.#byHost.set(host, (this.#byHost.get(host) ?? 0) + bytes);
  }

  /** Returns whose limit is reached, and whether that is new; undefined: the line may be written. */
  full(level: LogLevel, host: unknown): { readonly of: string; readonly isNew: boolean } | undefined {
    if (level !== 'debug') return this.#used.rest < logLimits.rest ? undefined : { of: 'all', isNew: false };
    if (this.#used.debug >= logLimits.debug) return this.#once('all');
    if (typeof host !== 'string' || (this.#byHost.get(host) ?? 0) < logLimits.host) return undefined;
    return this.#once(host);
  }

  #once(of: string): { readonly of: string; readonly isNew: boolean } {
    const isNew = !this.#reported.has(of);
    this.#reported.add(of);
    return { of, isNew };
  }
}

/** Cleans foreign text, and lists the fields of errors: they are not enumerable, so JSON would show `{}`. */
function plain(_key: string, value: unknown): unknown {
  if (value instanceof FleetError) return { ...value.problem, cause: value.cause, stack: value.stack };
  if (value instanceof Error) {
    return { name: value.name, message: value.message, cause: value.cause, stack: value.stack };
  }
  if (typeof value === 'string') return foreignLines(value);
  return typeof value === 'bigint' ? String(value) : value;
}
