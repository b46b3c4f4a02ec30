import pLimit from 'p-limit';

import type { Context } from '../../../shared/base/context.ts';
import { ExitCode, FleetError, usageError } from '../../../shared/base/errors.ts';
import { troubleOf } from '../../../shared/base/host-trouble.ts';
import { sh } from '../../../shared/base/shell.ts';
import { controlIn } from '../../../shared/base/foreign-text.ts';
import type { HostSpec } from '../../../fleet/inventory/fleet.ts';
import { askedOutput } from '../../render/asked-output.ts';
import { painter } from '../../render/color.ts';
import { execText, type HostAnswer } from '../../render/exec.ts';
import type { ScriptOptions, ScriptResult, Session } from '../../../fleet/ssh/transport.ts';
import type { CommandInput } from '../../command.ts';
import { problemsAmong, type Result } from '../../result.ts';
import { withHosts, type Connected } from '../../run/with-hosts.ts';

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
    const problem = troubleOf(name, isLate ? tooLong(timeout, last) : error, log);
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
