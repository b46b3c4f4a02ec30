import type { Code } from './codes/code.ts';
import { foreignLine, foreignLines, foreignValue } from './foreign-text.ts';

/** A problem in the user's words, with every part that is known. */
export interface Problem {
  /** Stable machine-readable name, for `--json` and tests: `ssh.host-key-mismatch`, `inventory.unknown-key`, … */
  code: Code;
  host?: string;
  /** The step or phase: connect, facts, driver, docker, toolkit, image, manager, pool, probe, inventory, … */
  step?: string;
  /** What happened, in one line. */
  what: string;
  /** Position in the inventory that `what` names, from 1. */
  line?: number;
  column?: number;
  expected?: string;
  seen?: string;
  /** The reader's next action, as a command where possible. */
  next?: string;
  /** Several mistakes found at once (in an inventory), in the file's order. */
  details?: readonly Problem[];
}

/** Exit codes of the CLI, as documented in the README. */
export const ExitCode = {
  ok: 0,
  hostFailed: 1,
  usage: 2,
  changesPending: 3,
  declined: 4,
  bug: 70,
  interrupted: 130,
} as const;
export type ExitCode = (typeof ExitCode)[keyof typeof ExitCode];

/** Exit codes of `status --check`, as monitoring systems read those of a plugin. */
export const CheckCode = { ok: 0, degraded: 1, failed: 2, unknown: 3 } as const;
export type CheckCode = (typeof CheckCode)[keyof typeof CheckCode];

/** Cleans a problem for display and storage: most contain text from hosts, servers or files. */
export function foreignProblem(problem: Problem): Problem {
  return foreignValue(problem, (text, key) =>
    severalLines.has(key) ? foreignLines(text) : foreignLine(text),
  );
}

/** Parts below the first line of a message, where lines of another program cannot be mistaken for ours. */
const severalLines = new Set(['expected', 'seen', 'next']);

/** An expected failure of a host, a server or the user's input. Any other thrown value is our bug. */
export class FleetError extends Error {
  readonly problem: Problem;
  readonly exitCode: ExitCode;

  constructor(problem: Problem, options: { cause?: unknown; exitCode?: ExitCode } = {}) {
    const cleaned = foreignProblem(problem);
    super(cleaned.what, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'FleetError';
    this.problem = cleaned;
    this.exitCode = options.exitCode ?? ExitCode.hostFailed;
  }

  /** Returns the same problem with host and step added where they are missing. */
  at(place: { host?: string; step?: string }): FleetError {
    return new FleetError(
      { ...place, ...this.problem },
      { cause: this.cause ?? this, exitCode: this.exitCode },
    );
  }
}

/** Returns the code of a system error (`ENOENT`), or the whole text of another error. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : String(error);
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EISDIR: 'a folder, not a file',
  ENOTDIR: 'a part of its path is not a folder',
};

/** Explains why a file cannot be opened; rare errors keep their code. */
export function whyNot(error: unknown): string {
  const code = codeOf(error);
  return reasons[code] ?? code;
}

/** Returns the error for a mistake in arguments or inventory: exit code 2. */
export function usageError(problem: Problem, cause?: unknown): FleetError {
  return new FleetError(problem, { cause, exitCode: ExitCode.usage });
}
