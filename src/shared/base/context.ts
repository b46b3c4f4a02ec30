import type { Clock } from './clock.ts';
import type { HostRoot } from './host-root.ts';
import type { Logger } from './log.ts';

export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
};

/** Everything of the outside that commands may touch. Built once in src/cli/main.ts; tests build their own. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The invoking user's home folder, from passwd (as OpenSSH does), not from $HOME. */
  readonly home: string;
  readonly user: string;
  /** Secrets do not get through, and of control characters only line breaks and our styles. */
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /**
   * The same two with every control character: for what moves the cursor (questions, the live picture), and for output
   * that was asked for where no terminal reads it. Whoever writes here cleans what others said.
   */
  readonly unfiltered: { readonly stdout: OutputStream; readonly stderr: OutputStream };
  readonly stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  readonly clock: Clock;
  /** Where hosts have their /sys, /proc and /dev. */
  readonly root: HostRoot;
  /** Aborted at the first Ctrl-C. */
  readonly signal: AbortSignal;
  /** The debug log; redacts registered secrets. */
  readonly log: Logger;
}
