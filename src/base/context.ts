import type { Logger } from './log.ts';

/** Everything of the outside that commands may touch. Built once in src/cli/main.ts; tests build their own. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The invoking user's home folder, from passwd (as OpenSSH does), not from $HOME. */
  readonly home: string;
  readonly user: string;
  readonly stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };
  readonly stderr: NodeJS.WritableStream & { isTTY?: boolean; columns?: number; rows?: number };
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  /** Milliseconds since the epoch. */
  now(): number;
  /** Aborted at the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** The debug log; redacts registered secrets. */
  readonly log: Logger;
}
