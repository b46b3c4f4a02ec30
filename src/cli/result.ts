import type { Context, OutputStream } from '../shared/base/context.ts';
import { ExitCode, type Problem } from '../shared/base/errors.ts';
import type { Members } from './render/envelope.ts';
import { say } from './render/lines.ts';
import { problemsLines, warn } from './render/problem.ts';

/** The result of a command. It is shown when everything is closed: as text, or with --json as one document. */
export interface Result {
  readonly exitCode: ExitCode;
  /** For programs: the command's own members of the document. */
  readonly json: Members;
  /** For programs: all problems, of hosts and of the run. */
  readonly problems?: readonly Problem[];
  /** For people, on stdout. Output that may be too long for memory is in pieces. */
  readonly text?: () => string | Iterable<string>;
  /** Receives the text unfiltered, instead of stdout: output of other programs, and output for programs. */
  readonly to?: OutputStream;
  /** For people, on stderr: warnings. */
  readonly warnings?: readonly Problem[];
  /** For people, on stderr: problems that neither the text nor the progress shows. */
  readonly aside?: readonly Problem[];
  /** The same above the text, which ends with its summary. */
  readonly above?: readonly Problem[];
}

/** Returns the problems of several hosts. */
export function problemsAmong(
  found: readonly { readonly host: unknown; readonly problem?: Problem }[],
): readonly Problem[] {
  return found.flatMap(({ problem }) => problem ?? []);
}

/** The user declined. */
export const declined: Result = { exitCode: ExitCode.declined, json: {} };

/** Shows a result to people. */
export function show(
  { stdout, stderr }: Context,
  { text, to, warnings = [], aside = [], above = [] }: Result,
): void {
  showProblems(stderr, above);
  const shown = text?.() ?? [];
  const pieces = typeof shown === 'string' ? [shown] : shown;
  for (const piece of pieces) {
    if (to === undefined) say(stdout, piece);
    else to.write(piece);
  }
  for (const warning of warnings) warn(stderr, warning);
  showProblems(stderr, aside);
}

function showProblems(stderr: OutputStream, problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  stderr.write(`${problemsLines(problems, (stderr.columns ?? 80) - 1).join('\n')}\n`);
}
