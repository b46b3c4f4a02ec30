import { styleText } from 'node:util';

import type { Context, OutputStream } from '../../shared/base/context.ts';
import { ExitCode, FleetError, foreignProblem, type Problem } from '../../shared/base/errors.ts';
import { foreignLines } from '../../shared/base/foreign-text.ts';
import { alike, hostLabel } from './alike.ts';
import { jsonDocument } from './envelope.ts';
import { widthOf, wrap, wrapNext } from './lines.ts';

interface ReportOptions {
  readonly context: Pick<Context, 'stdout' | 'stderr' | 'log' | 'clock'>;
  /** Undefined where the arguments were not understood. */
  readonly command: string | undefined;
  /** The error is only how an interruption ends: no fault is told. */
  readonly interrupted: boolean;
  readonly json: boolean;
  readonly debug: boolean;
  /** Undefined where none could be written. */
  readonly logFile: string | undefined;
}

/** Tells the user what went wrong and returns the exit code. Expected failures get no stack trace. */
export function report(error: unknown, options: ReportOptions): ExitCode {
  const { context, command, json, debug, logFile } = options;
  const tell = (exitCode: ExitCode, problem: Problem) =>
    context.stdout.write(
      jsonDocument(context.clock, { command, exitCode, problems: [problem], log: logFile }),
    );
  if (options.interrupted) {
    if (json) tell(ExitCode.interrupted, { code: 'interrupted', what: 'interrupted before the end' });
    return ExitCode.interrupted;
  }
  const expected = error instanceof FleetError;
  const problem = expected ? error.problem : foreignProblem(bug(error, logFile));
  const exitCode = expected ? error.exitCode : ExitCode.bug;
  context.log.log('error', problem.what, {
    ...problem,
    ...(error instanceof Error ? { stack: error.stack } : {}),
  });
  if (json) tell(exitCode, problem);
  else {
    const lines = problemLines(problem, (context.stderr.columns ?? 80) - 1);
    context.stderr.write(`${lines.join('\n')}\n`);
    if (exitCode !== ExitCode.usage || debug) nameLog(context.stderr, logFile);
  }
  if (debug && error instanceof Error) context.stderr.write(`${foreignLines(error.stack ?? '')}\n`);
  return exitCode;
}

/** Says where the debug log is; nothing where there is none. */
export function nameLog(stderr: NodeJS.WritableStream, logFile: string | undefined): void {
  if (logFile !== undefined) stderr.write(`${dim(`  log       ${logFile}`)}\n`);
}

function bug(error: unknown, logFile: string | undefined): Problem {
  const log = logFile === undefined ? '' : ' with the log file named below';
  return {
    code: 'bug',
    what: `bug in azp-fleet: ${error instanceof Error ? error.message : String(error)}`,
    next: `report it${log}; run again with --debug to see where it happened`,
  };
}

/**
 * A problem as lines: place and event first, then what was expected and seen, then what to do. `hosts`: names, where the
 * place is several hosts and only counts them.
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

/** What only looks wrong, as lines: the command goes on. */
function warningLines({ what, next }: Pick<Problem, 'what' | 'next'>, width: number): string[] {
  const lines = wrap(what, width, 2, 2).map((line, index) => (index === 0 ? `${yellow('!')} ${line}` : line));
  return [...lines, ...labelled('next', next, width)];
}

/** Says on a stream what only looks wrong. */
export function warn(stream: OutputStream, warning: Pick<Problem, 'what' | 'next'>): void {
  stream.write(`${warningLines(warning, (stream.columns ?? 80) - 1).join('\n')}\n`);
}

const red = (text: string) => styleText('red', text, { stream: process.stderr });
const yellow = (text: string) => styleText('yellow', text, { stream: process.stderr });
const bold = (text: string) => styleText('bold', text, { stream: process.stderr });
const dim = (text: string) => styleText('dim', text, { stream: process.stderr });

/** Problems as lines, the same of several hosts once. Those of no host are in the place of the first. */
export function problemsLines(problems: readonly Problem[], width: number): string[] {
  const said = problems.map(({ host = '', ...value }) => ({ host, value }));
  return alike(said).flatMap(({ hosts, value }) => {
    if (hosts.includes('')) return problemLines(value, width);
    const { label, names } = hostLabel(hosts);
    return problemLines({ ...value, host: label }, width, names);
  });
}
