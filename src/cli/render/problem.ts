import { styleText } from 'node:util';

import type { Context, OutputStream } from '../../shared/base/context.ts';
import { CheckCode, ExitCode, FleetError, foreignProblem, type Problem } from '../../shared/base/errors.ts';
import { foreignLines } from '../../shared/base/foreign-text.ts';
import { alike, hostLabel } from './alike.ts';
import { jsonDocument } from './envelope.ts';
import { checkLine, widthOf, wrap, wrapNext } from './lines.ts';

interface ReportOptions {
  readonly context: Pick<Context, 'stdout' | 'stderr' | 'log' | 'clock'>;
  /** Undefined if the arguments could not be parsed. */
  readonly command: string | undefined;
  /** True if the error is the result of an interruption: it is not reported. */
  readonly interrupted: boolean;
  readonly json: boolean;
  readonly debug: boolean;
  /** True for `--check` of a command that is a monitoring plugin. */
  readonly check: boolean;
  /** Undefined if none could be written. */
  readonly logFile: string | undefined;
}

/** Reports an error to the user and returns the exit code. Expected failures have no stack trace. */
export function report(error: unknown, options: ReportOptions): ExitCode {
  const { context, command, json, debug, check, logFile } = options;
  const writeJson = (exitCode: ExitCode, problem: Problem): void => {
    const parts = { command, exitCode, problems: [problem], log: logFile };
    for (const piece of jsonDocument(context.clock, parts)) context.stdout.write(piece);
  };
  if (options.interrupted) {
    if (json) writeJson(ExitCode.interrupted, { code: 'interrupted', what: 'interrupted before the end' });
    else sayCanceled(context.stderr, error);
    return ExitCode.interrupted;
  }
  const expected = error instanceof FleetError;
  const problem = expected ? error.problem : foreignProblem(bug(error, logFile));
  const own = expected ? error.exitCode : ExitCode.bug;
  const exitCode = check ? CheckCode.unknown : own;
  context.log.log('error', problem.what, {
    ...problem,
    ...(error instanceof Error ? { stack: error.stack } : {}),
  });
  if (json) writeJson(exitCode, problem);
  else {
    if (check) context.stdout.write(`${checkLine('UNKNOWN', problem.what)}\n`);
    const lines = problemLines(problem, (context.stderr.columns ?? 80) - 1);
    context.stderr.write(`${lines.join('\n')}\n`);
    if (own !== ExitCode.usage || debug) nameLog(context.stderr, logFile);
  }
  if (debug && error instanceof Error) context.stderr.write(`${foreignLines(error.stack ?? '')}\n`);
  return exitCode;
}

/** Reports Ctrl-C. `error`: the one that ended the command; it may name the state that remains. */
export function sayCanceled(stderr: NodeJS.WritableStream, error?: unknown): void {
  const what = error instanceof FleetError ? error.problem.what : '';
  stderr.write(`${what.startsWith('canceled') ? what : 'canceled'} (exit 130) [interrupted]\n`);
}

/** Prints the path of the debug log, if there is one. */
export function nameLog(stderr: NodeJS.WritableStream, logFile: string | undefined): void {
  if (logFile !== undefined) stderr.write(`${dim(`  log       ${logFile}`)}\n`);
}

function bug(error: unknown, logFile: string | undefined): Problem {
  const log = logFile === undefined ? '' : ' with the log file named below';
  return {
    code: 'bug',
    what: `bug in azp-fleet: ${error instanceof Error ? error.message : String(error)}`,
    next: `report it${log}; run again with --debug for the stack trace`,
  };
}

/**
 * Returns a problem as lines: place and message, then expected and seen, then the next action. `hosts`: their names, if
 * the place shows only the number of hosts.
 */
export function problemLines(problem: Problem, width: number, hosts?: string): string[] {
  const place = [problem.host, problem.step].filter((part) => part !== undefined).join(' · ');
  const head = `${red('✗')} ${place === '' ? '' : `${bold(place)}: `}`;
  const plainHead = 2 + (place === '' ? 0 : widthOf(place) + 2);
  const lines = wrap(`${problem.what} [${problem.code}]`, width, plainHead, 2).map((line, index) =>
    index === 0 ? head + line : line,
  );
  for (const [label, text] of [
    ['hosts', hosts],
    ['expected', problem.expected],
    ['seen', problem.seen],
    ['next', problem.next],
  ] as const)
    lines.push(...labelled(label, text, width));
  for (const detail of problem.details ?? [])
    lines.push(...problemLines(detail, width - 2).map((line) => `  ${line}`));
  return lines;
}

function labelled(label: string, text: string | undefined, width: number): string[] {
  if (text === undefined) return [];
  const lines = label === 'next' ? wrapNext(text, width, 12) : wrap(text, width, 12, 12);
  return lines.map((line, index) => (index === 0 ? `  ${dim(label.padEnd(10))}${line}` : line));
}

/** Returns a warning as lines. */
function warningLines({ what, next }: Pick<Problem, 'what' | 'next'>, width: number): string[] {
  const lines = wrap(what, width, 2, 2).map((line, index) => (index === 0 ? `${yellow('!')} ${line}` : line));
  return [...lines, ...labelled('next', next, width)];
}

/** Prints a warning. */
export function warn(stream: OutputStream, warning: Pick<Problem, 'what' | 'next'>): void {
  stream.write(`${warningLines(warning, (stream.columns ?? 80) - 1).join('\n')}\n`);
}

const red = (text: string) => styleText('red', text, { stream: process.stderr });
const yellow = (text: string) => styleText('yellow', text, { stream: process.stderr });
const bold = (text: string) => styleText('bold', text, { stream: process.stderr });
const dim = (text: string) => styleText('dim', text, { stream: process.stderr });

/** Returns problems as lines, equal ones of several hosts once, in the order of the first occurrence. */
export function problemsLines(problems: readonly Problem[], width: number): string[] {
  const values = problems.map(({ host = '', ...value }) => ({ host, value }));
  return alike(values).flatMap(({ hosts, value }) => {
    if (hosts.includes('')) return problemLines(value, width);
    const { label, names } = hostLabel(hosts);
    return problemLines({ ...value, host: label }, width, names);
  });
}
