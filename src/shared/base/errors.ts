import type { Code } from './codes/code.ts';
import { foreignLine, foreignLines, foreignValue } from './foreign-text.ts';

/** What went wrong, in the user's words. Every part that is known is filled in; rendering is elsewhere. */
export interface Problem {
  /** Stable machine-readable name, for `--json` and tests: `ssh.host-key-mismatch`, `inventory.unknown-key`, … */
  code: Code;
  host?: string;
  /** The step or phase: connect, facts, driver, docker, toolkit, image, manager, pool, probe, inventory, … */
  step?: string;
  /** One line: what happened. */
  what: string;
  expected?: string;
  seen?: string;
  /** What the reader should do now. A command where possible. */
  next?: string;
  /** Several mistakes found at once (an inventory's): each on its own, in the file's order. */
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

/** A problem as it may be shown and kept: hosts, servers and files have a say in most of them. */
export function foreignProblem(problem: Problem): Problem {
  return foreignValue(problem, (text, key) =>
    severalLines.has(key) ? foreignLines(text) : foreignLine(text),
  );
}

/** Shown below the first line, where lines of another program cannot be mistaken for ours. */
const severalLines = new Set(['expected', 'seen', 'next']);

/** An expected failure: the world or the user's input is not as needed. Anything else that is thrown is our bug. */
export class FleetError extends Error {
  readonly problem: Problem;
  readonly exitCode: ExitCode;

  constructor(problem: Problem, options: { cause?: unknown; exitCode?: ExitCode } = {}) {
    const said = foreignProblem(problem);
    super(said.what, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'FleetError';
    this.problem = said;
    this.exitCode = options.exitCode ?? ExitCode.hostFailed;
  }

  /** The same problem with host and step filled in where they were not yet known. */
  at(place: { host?: string; step?: string }): FleetError {
    return new FleetError(
      { ...place, ...this.problem },
      { cause: this.cause ?? this, exitCode: this.exitCode },
    );
  }
}

/** `ENOENT` and the like for errors of the system; the whole text of others. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : String(error);
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EISDIR: 'a folder, not a file',
  ENOTDIR: 'a part of its path is no folder',
};

/** Why a file cannot be had, for people; `ENOENT` and the like only where they are rare. */
export function whyNot(error: unknown): string {
  const code = codeOf(error);
  return reasons[code] ?? code;
}

/** Usage and inventory mistakes: exit code 2. */
export function usageError(problem: Problem, cause?: unknown): FleetError {
  return new FleetError(problem, { cause, exitCode: ExitCode.usage });
}
