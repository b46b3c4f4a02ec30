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
/** Bytes of one log: of debug lines, of those of one host, and beside them of lines that say what went wrong. */
export const logLimits = { debug: 32 * mib, host: 2 * mib, rest: 4 * mib };

/**
 * The debug log: JSON lines `{at, level, message, …fields}` in a file that only its owner reads.
 * Written synchronously: a log that loses its last lines in a crash is of no use. Where a host says more than has room,
 * a line tells that the rest is left out.
 * `redactor` is shared with the other sinks so that a secret is registered once.
 */
export function createFileLogger(
  path: string,
  clock: Clock,
  redactor: Redactor = new Redactor(),
): FileLogger {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, 'a', 0o600);
  const room = new Room();
  let open = true;
  const write = (level: LogLevel, message: string, fields: Readonly<Record<string, unknown>>): void => {
    const line = JSON.stringify({ at: timestamp(clock), level, message, ...fields }, plain);
    const bytes = Buffer.from(`${escapeHidden(redactor.text(line))}\n`);
    room.take(level, fields['host'], bytes.length);
    try {
      writeSync(file, bytes);
    } catch {
      // A full disk: what the log is about goes on without it.
    }
  };
  return {
    path,
    log(level, message, fields = {}) {
      if (!open) return;
      const full = room.full(level, fields['host']);
      if (full === undefined) return write(level, message, fields);
      if (full.isNew) write('warn', `no room for more debug lines of ${full.of}`, {});
    },
    redact: (secret) => redactor.add(secret),
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
}

/** How much has been written, and of whom. */
class Room {
  readonly #used = { debug: 0, rest: 0 };
  readonly #byHost = new Map<string, number>();
  readonly #told = new Set<string>();

  take(level: LogLevel, host: unknown, bytes: number): void {
    this.#used[level === 'debug' ? 'debug' : 'rest'] += bytes;
    if (level === 'debug' && typeof host === 'string')
      this.#byHost.set(host, (this.#byHost.get(host) ?? 0) + bytes);
  }

  /** What has no room any more, and whether that is seen for the first time; undefined: the line may be written. */
  full(level: LogLevel, host: unknown): { readonly of: string; readonly isNew: boolean } | undefined {
    if (level !== 'debug') return this.#used.rest < logLimits.rest ? undefined : { of: 'all', isNew: false };
    if (this.#used.debug >= logLimits.debug) return this.#once('all');
    if (typeof host !== 'string' || (this.#byHost.get(host) ?? 0) < logLimits.host) return undefined;
    return this.#once(host);
  }

  #once(of: string): { readonly of: string; readonly isNew: boolean } {
    const isNew = !this.#told.has(of);
    this.#told.add(of);
    return { of, isNew };
  }
}

/** Cleans what others said. Errors have no enumerable fields; without this they would be logged as `{}`. */
function plain(_key: string, value: unknown): unknown {
  if (value instanceof FleetError) return { ...value.problem, cause: value.cause, stack: value.stack };
  if (value instanceof Error) {
    return { name: value.name, message: value.message, cause: value.cause, stack: value.stack };
  }
  if (typeof value === 'string') return foreignLines(value);
  return typeof value === 'bigint' ? String(value) : value;
}
