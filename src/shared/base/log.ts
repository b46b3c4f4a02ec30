import type { Secret } from './secret.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One JSON line per call, to a file (CLI) or stdout (manager). Never to the screen of the CLI. */
export interface Logger {
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Replaces this value by `***` in everything that is written from now on. */
  redact(secret: Secret): void;
}

/** Discards everything. */
export const silentLogger: Logger = { log: () => undefined, redact: () => undefined };
