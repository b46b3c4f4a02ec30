import pLimit from 'p-limit';

import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { ScriptOptions, ScriptResult, Session } from '../../fleet/ssh/transport.ts';
import type { Code } from '../../shared/base/codes/code.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, FleetError, type Problem, usageError } from '../../shared/base/errors.ts';
import { controlIn } from '../../shared/base/foreign-text.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import { sh } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import { HostOutput, type HostText, type StreamName } from '../host-output.ts';
import { type Paint, painter } from '../render/color.ts';
import { requestedOutput, wrap } from '../render/lines.ts';
import { problemsLines } from '../render/problem.ts';
import { problemsAmong, type Result } from '../result.ts';
import { type Connected, withHosts } from '../run/hosts.ts';

/** Largest output of each stream of one host, in bytes. */
const outputLimit = 64 * 1024 * 1024;

/** Equal to the option's default. */
const defaultTimeoutMs = 60_000;

/** Runs one command on many hosts. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options, rest } = input;
  const text = rest.length === 1 ? (rest[0] ?? '') : sh`${rest}`;
  if (text === '') throw noCommand();
  const seen = controlIn(text);
  if (seen !== undefined) throw hasControl(seen);
  const limit = pLimit(options.integer('parallel', { min: 1, max: 1000 }) ?? 50);
  const script = {
    as: options.flag('login') ? ('login' as const) : ('root' as const),
    totalTimeoutMs: options.duration('timeout') ?? defaultTimeoutMs,
    signal: context.signal,
    outputLimit,
  };
  const timeout = options.string('timeout') ?? '';
  const { log, clock, redactor } = context;
  const answers = await withHosts(context, input, ({ hosts, ...at }) =>
    Promise.all(
      hosts.map((host) =>
        limit(() => onHost({ ...at, log, clock, redactor }, host, { text, timeout, ...script })),
      ),
    ),
  );
  const allOk = answers.every((answer) => 'result' in answer && answer.result.code === 0);
  const { to, clean } = requestedOutput(context);
  const style = {
    paint: painter(context.stdout, context.env),
    width: (context.stdout.columns ?? 80) - 1,
    clean,
  };
  return {
    exitCode: allOk ? ExitCode.ok : ExitCode.hostFailed,
    json: { hosts: answers },
    problems: problemsAmong(answers),
    text: () => execText(answers, style),
    to,
  };
}

interface ExecRequest extends ScriptOptions {
  readonly totalTimeoutMs: number;
  readonly text: string;
  /** As typed. */
  readonly timeout: string;
}

async function onHost(
  {
    transport,
    emit,
    log,
    clock,
    redactor,
  }: Pick<Connected, 'transport' | 'emit'> & Pick<Context, 'log' | 'clock' | 'redactor'>,
  { name, ssh }: HostSpec,
  { text, timeout, ...options }: ExecRequest,
): Promise<HostAnswer> {
  let last = '';
  let since = clock.monotonic();
  const running = (): void =>
    emit({
      kind: 'host-state',
      host: name,
      state: 'running',
      text: last,
      wait: { since, limitMs: options.totalTimeoutMs },
    });
  const shown = new LatestOnly(running);
  const output = new HostOutput(redactor);
  try {
    emit({ kind: 'host-state', host: name, state: 'connecting' });
    const session = await transport.connect(
      { name, ssh },
      options.signal === undefined ? {} : { signal: options.signal },
    );
    since = clock.monotonic();
    running();
    const onLine = (line: string): void => {
      last = line;
      shown.soon();
    };
    const onOutput = (stream: StreamName, chunk: Buffer): void => output.push(stream, chunk);
    const ran = await ranOnce(session, text, { ...options, onLine, onOutput });
    const result = { ...ran, ...output.end() };
    shown.end();
    emit({
      kind: 'host-state',
      host: name,
      state: result.code === 0 ? 'ok' : 'failed',
      text: `exit ${result.code}`,
    });
    return { host: name, result };
  } catch (error) {
    shown.end();
    output.discard();
    if (options.signal?.aborted === true && !(error instanceof FleetError)) throw error;
    const isLate = error instanceof FleetError && error.problem.code === 'ssh.script-timeout';
    const problem = hostProblem(name, isLate ? tooLong(timeout, last) : error, log);
    const isAnswering = isLate || answering.has(problem.code);
    const state = isAnswering ? 'failed' : options.signal?.aborted === true ? 'skipped' : 'unreachable';
    emit({ kind: 'host-state', host: name, state, text: problem.what });
    return { host: name, problem };
  }
}

/** Codes of problems with the output of a command: its host is reachable. */
const answering: ReadonlySet<Code> = new Set(['ssh.output-too-long', 'exec.output-file']);

/** Runs the script and closes the session in any case, so that a host that keeps writing is not read further. */
async function ranOnce(session: Session, text: string, options: ScriptOptions): Promise<ScriptResult> {
  try {
    return await session.script(text, options);
  } finally {
    await session.close();
  }
}

/** Shows only the latest line per turn of the event loop, so that a host with much output does not delay the others. */
class LatestOnly {
  readonly #show: () => void;
  #due: NodeJS.Immediate | undefined;

  constructor(show: () => void) {
    this.#show = show;
  }

  soon(): void {
    this.#due ??= setImmediate(() => {
      this.#due = undefined;
      this.#show();
    });
  }

  end(): void {
    clearImmediate(this.#due);
  }
}

/** Returns the error for a timeout: the host itself counts as reachable. */
function tooLong(timeout: string, last: string): FleetError {
  return new FleetError({
    code: 'exec.timeout',
    what: `the command was stopped after ${timeout}`,
    expected: 'an exit within --timeout',
    ...(last === '' ? {} : { seen: last }),
    next: 'run it again with a longer --timeout',
  });
}

function noCommand(): FleetError {
  return usageError({
    code: 'usage.exec',
    what: 'there is no command to run',
    next: 'put it after two dashes: azp-fleet exec -- nvidia-smi -L',
  });
}

/** Returns the error for control characters: one of them encodes line breaks in transport, and terminals interpret others. */
function hasControl(seen: string): FleetError {
  return usageError({
    code: 'usage.control',
    what: 'the command has a control character',
    expected: 'text, with line breaks and tabs',
    seen,
    next: 'create it on the host with printf: azp-fleet exec -- \'printf "\\033[1m"\'',
  });
}

/** The result of `exec` on one host. */
export type HostAnswer =
  | { readonly host: string; readonly result: Ran }
  | { readonly host: string; readonly problem: Problem };

type Ran = Omit<ScriptResult, StreamName> & Readonly<Record<StreamName, HostText>>;

/**
 * Returns the outputs in pieces, hosts with equal exit code and output together: largest group first, failed and
 * unreachable hosts last. `clean` escapes output for a terminal.
 */
export function* execText(
  answers: readonly HostAnswer[],
  { paint, width, clean }: { readonly paint: Paint; readonly width: number; readonly clean: Clean },
): Generator<string> {
  const groups = new Map<string, { readonly hosts: string[]; readonly result: Ran }>();
  const problems: Problem[] = [];
  for (const answer of answers) {
    if ('problem' in answer) {
      problems.push(answer.problem);
      continue;
    }
    const { code, stdout, stderr } = answer.result;
    const key = JSON.stringify([code, ...[stdout, stderr].map(identityOf)]);
    const group = groups.get(key) ?? { hosts: [], result: answer.result };
    group.hosts.push(answer.host);
    groups.set(key, group);
  }
  const ordered = [...groups.values()].sort(
    (a, b) => Number(a.result.code !== 0) - Number(b.result.code !== 0) || b.hosts.length - a.hosts.length,
  );
  for (const { hosts, result } of ordered) {
    yield `${heading(hosts, result.code, { paint, width })}\n`;
    for (const text of [result.stdout, result.stderr]) yield* wholeLines(text, clean);
  }
  yield* problemsLines(problems, width).map((line) => `${line}\n`);
}

type Clean = (text: string) => string;

function identityOf(text: HostText): unknown {
  return typeof text === 'string' ? text : { digest: text.digest };
}

function heading(
  hosts: readonly string[],
  code: number,
  { paint, width }: { readonly paint: Paint; readonly width: number },
): string {
  const count = hosts.length === 1 ? '' : `${hosts.length} hosts: `;
  const end = code === 0 ? '' : paint('red', `  exit ${code}`);
  const [first = '', ...more] = wrap(`${count}${foldNames(hosts)}`, width, 3, 3);
  const names = [`── ${first}`, ...more].map((line) => paint('bold', line)).join('\n');
  return `${names}${end}`;
}

/** Characters of a line that are cleaned together. */
const longestLine = 1024 * 1024;

/** Returns an output with a line feed at its end; an empty one stays empty. Pieces end with a line, for `clean`. */
function* wholeLines(text: HostText, clean: Clean): Generator<string> {
  if (text === '') return;
  let rest = '';
  for (const piece of typeof text === 'string' ? [text] : text.pieces()) {
    rest += piece;
    const lines = rest.lastIndexOf('\n');
    const end = lines <= 0 && rest.length > longestLine ? rest.length : lines;
    if (end <= 0) continue;
    yield clean(rest.slice(0, end));
    rest = rest.slice(end);
  }
  yield `${clean(rest.replace(/\n$/, ''))}\n`;
}
