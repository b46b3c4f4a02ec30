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

/** Returns a logger that stops after so many entries: a program that runs for weeks must not fill the disk. */
export function limitedLogger(logger: Logger, most: number): Logger {
  let left = most;
  return {
    log(level, message, fields) {
      if (left <= 0) return;
      left -= 1;
      logger.log(level, message, fields);
      if (left === 0) logger.log('warn', 'log ends', { most });
    },
    redact: (secret) => logger.redact(secret),
  };
}
