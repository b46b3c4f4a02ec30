import pLimit from 'p-limit';

import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { foldNames } from '../../fleet/inventory/fold-names.ts';
import type { ScriptOptions, ScriptResult, Session } from '../../fleet/ssh/transport.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, FleetError, type Problem, usageError } from '../../shared/base/errors.ts';
import { controlIn } from '../../shared/base/foreign-text.ts';
import { hostProblem } from '../../shared/base/host-trouble.ts';
import { sh } from '../../shared/base/shell.ts';
import type { CommandInput } from '../command.ts';
import { type Paint, painter } from '../render/color.ts';
import { askedOutput, wrap } from '../render/lines.ts';
import { problemsLines } from '../render/problem.ts';
import { problemsAmong, type Result } from '../result.ts';
import { type Connected, withHosts } from '../run/hosts.ts';

/** Bytes of each stream of one host: asked for, and read by a person or a program. */
const outputLimit = 64 * 1024 * 1024;

/** As the option's default has it. */
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
  const { log, clock } = context;
  const answers = await withHosts(context, input, ({ hosts, ...at }) =>
    Promise.all(
      hosts.map((host) => limit(() => onHost({ ...at, log, clock }, host, { text, timeout, ...script }))),
    ),
  );
  const well = answers.every((answer) => 'result' in answer && answer.result.code === 0);
  const { to, clean } = askedOutput(context);
  const style = {
    paint: painter(context.stdout, context.env),
    width: (context.stdout.columns ?? 80) - 1,
    clean,
  };
  return {
    exitCode: well ? ExitCode.ok : ExitCode.hostFailed,
    json: { hosts: answers },
    problems: problemsAmong(answers),
    text: () => `${execText(answers, style)}\n`,
    to,
  };
}

interface Asked extends ScriptOptions {
  readonly totalTimeoutMs: number;
  readonly text: string;
  /** As typed. */
  readonly timeout: string;
}

async function onHost(
  { transport, emit, log, clock }: Pick<Connected, 'transport' | 'emit'> & Pick<Context, 'log' | 'clock'>,
  { name, ssh }: HostSpec,
  { text, timeout, ...options }: Asked,
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
    const result = await ranOnce(session, text, { ...options, onLine });
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
    if (options.signal?.aborted === true && !(error instanceof FleetError)) throw error;
    const isLate = error instanceof FleetError && error.problem.code === 'ssh.script-timeout';
    const problem = hostProblem(name, isLate ? tooLong(timeout, last) : error, log);
    const state = isLate ? 'failed' : options.signal?.aborted === true ? 'skipped' : 'unreachable';
    emit({ kind: 'host-state', host: name, state, text: problem.what });
    return { host: name, problem };
  }
}

/** However it ends: a host that goes on talking is not listened to until all others are done. */
async function ranOnce(session: Session, text: string, options: ScriptOptions): Promise<ScriptResult> {
  try {
    return await session.script(text, options);
  } finally {
    await session.close();
  }
}

/** Of what comes faster than anybody reads the latest is shown: a host that floods is not to keep the others waiting. */
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

/** Nothing is wrong with a host whose command takes long. */
function tooLong(timeout: string, last: string): FleetError {
  return new FleetError({
    code: 'exec.timeout',
    what: `the command had not ended after ${timeout}, and was stopped`,
    expected: 'an end within --timeout',
    ...(last === '' ? {} : { seen: last }),
    next: 'run it again with a longer --timeout',
  });
}

function noCommand(): FleetError {
  return usageError({
    code: 'usage.exec',
    what: 'there is no command to run',
    next: 'put it behind two dashes: azp-fleet exec -- nvidia-smi -L',
  });
}

/** One of them stands for line breaks on the way to a host; a terminal obeys others wherever the command is shown. */
function hasControl(seen: string): FleetError {
  return usageError({
    code: 'usage.control',
    what: 'the command has a control character',
    expected: 'text, with line breaks and tabs',
    seen,
    next: 'let printf on the host make it: azp-fleet exec -- \'printf "\\033[1m"\'',
  });
}

/** What one host answered to `exec`. */
export type HostAnswer =
  | { readonly host: string; readonly result: ScriptResult }
  | { readonly host: string; readonly problem: Problem };

/**
 * Hosts with the same exit code and output together: largest group first, failures and the unreachable last. `clean`:
 * what becomes of their output.
 */
export function execText(
  answers: readonly HostAnswer[],
  {
    paint,
    width,
    clean,
  }: { readonly paint: Paint; readonly width: number; readonly clean: (text: string) => string },
): string {
  const groups = new Map<string, { readonly hosts: string[]; readonly result: ScriptResult }>();
  const problems: Problem[] = [];
  for (const answer of answers) {
    if ('problem' in answer) {
      problems.push(answer.problem);
      continue;
    }
    const { code, stdout, stderr } = answer.result;
    const key = JSON.stringify([code, stdout, stderr]);
    const group = groups.get(key) ?? { hosts: [], result: answer.result };
    group.hosts.push(answer.host);
    groups.set(key, group);
  }
  const ordered = [...groups.values()].sort(
    (a, b) => Number(a.result.code !== 0) - Number(b.result.code !== 0) || b.hosts.length - a.hosts.length,
  );
  const blocks = ordered.map(({ hosts, result }) =>
    [heading(hosts, result.code, { paint, width }), ...body(result).map(clean)].join('\n'),
  );
  return [...blocks, ...problemsLines(problems, width)].join('\n');
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

function body({ stdout, stderr }: ScriptResult): string[] {
  return [stdout, stderr].filter((text) => text !== '').map((text) => text.replace(/\n$/, ''));
}
