import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

import { timestamp, type Clock } from './machine/clock.ts';
import { FleetError } from './errors.ts';
import { foreignLines } from './foreign-text.ts';
import type { Logger } from './log.ts';
import { Redactor } from './redact/redact.ts';
import { escapeHidden } from './unseen.ts';

export interface FileLogger extends Logger {
  readonly path: string;
  close(): void;
}

/**
 * The debug log: JSON lines `{at, level, message, …fields}` in a file that only its owner reads.
 * Written synchronously: a log that loses its last lines in a crash is of no use.
 * `redactor` is shared with the other sinks so that a secret is registered once.
 */
export function createFileLogger(
  path: string,
  clock: Clock,
  redactor: Redactor = new Redactor(),
): FileLogger {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const file = openSync(path, 'a', 0o600);
  let open = true;
  return {
    path,
    log(level, message, fields = {}) {
      if (!open) return;
      const line = JSON.stringify({ at: timestamp(clock), level, message, ...fields }, plain);
      try {
        writeSync(file, `${escapeHidden(redactor.text(line))}\n`);
      } catch {
        // A full disk: what the log is about goes on without it.
      }
    },
    redact: (secret) => redactor.add(secret),
    close() {
      if (open) closeSync(file);
      open = false;
    },
  };
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
