import type { Clock } from './clock.ts';
import type { HostRoot } from './host-root.ts';
import type { Logger } from './log.ts';
import type { Redactor } from './redact.ts';

export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
};

/** Everything outside the program that commands may use. Built once in src/cli/main.ts; tests build their own. */
export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The invoking user's home folder, from passwd (as OpenSSH does), not from $HOME. */
  readonly home: string;
  readonly user: string;
  /** Redacts secrets, and escapes control characters except line breaks and our styles. */
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /**
   * The same two streams with every control character: to move the cursor (questions, the live picture), and for requested
   * output that no terminal reads. The caller must clean foreign text.
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
  /** Hides registered secrets in text that these streams and the log do not get. */
  readonly redactor: Pick<Redactor, 'stream'>;
}
