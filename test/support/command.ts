import { PassThrough } from 'node:stream';

import type { Context } from '../../src/shared/base/context.ts';
import type { Clock } from '../../src/shared/base/clock.ts';
import { guardOutput } from '../../src/shared/base/terminal-output.ts';
import { machineRoot } from '../../src/shared/base/host-root.ts';
import { type Logger, silentLogger } from '../../src/shared/base/log.ts';
import { Redactor } from '../../src/shared/base/redact.ts';
import { globalFlagsIn } from '../../src/cli/main.ts';
import { commands } from '../../src/cli/commands.ts';
import { parseArguments, type Parsed } from '../../src/cli/parse.ts';
import { runCommand as runParsed } from '../../src/cli/run-command.ts';
import { report } from '../../src/cli/render/problem.ts';
import { StillClock } from './clock.ts';

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout and stderr together, as a terminal shows them. */
  readonly both: string;
}

interface Place {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** stdout and stderr are one terminal, of 100 columns and 30 rows by default. */
  readonly terminal?: boolean | { readonly columns: number; readonly rows: number };
  /** The source of answers; none by default. */
  readonly stdin?: Context['stdin'];
  /** Called with each write to stderr. */
  readonly heard?: (text: string) => void;
  readonly log?: Logger;
  /** The user who runs it. */
  readonly user?: string;
  /** Default: a stopped clock. */
  readonly clock?: Clock;
  /** Ctrl-C. */
  readonly signal?: AbortSignal;
  /** Knows the secrets to hide; none by default. */
  readonly redactor?: Redactor;
}

/**
 * Returns a command's context; its output is collected in `written`, through the same filter as in the program.
 */
export function quietContext({
  cwd,
  env = {},
  terminal = false,
  stdin,
  heard,
  log = silentLogger,
  user = 'me',
  signal = new AbortController().signal,
  clock = new StillClock(),
  redactor = new Redactor(),
}: Place) {
  const written = { stdout: '', stderr: '', both: '' };
  const size = typeof terminal === 'object' ? terminal : { columns: 100, rows: 30 };
  const stream = (name: 'stdout' | 'stderr') =>
    Object.assign(new PassThrough(), terminal === false ? {} : { isTTY: true, ...size }).on(
      'data',
      (data: Buffer) => {
        written[name] += data.toString();
        written.both += data.toString();
        if (name === 'stderr') heard?.(data.toString());
      },
    );
  const [stdout, stderr] = [stream('stdout'), stream('stderr')];
  const guards = [stdout, stderr].map((output) => guardOutput(output, redactor));
  const context: Context = {
    env,
    cwd,
    home: cwd,
    user,
    stdout,
    stderr,
    unfiltered: { stdout: guards[0]?.unfiltered ?? stdout, stderr: guards[1]?.unfiltered ?? stderr },
    stdin: stdin ?? new PassThrough(),
    clock,
    root: machineRoot,
    signal,
    log,
    redactor,
  };
  return { context, written };
}

/** Runs a command in this process as a user would type it. */
export async function runCommand(argv: readonly string[], place: Place): Promise<CommandResult> {
  const { context, written } = quietContext(place);
  const io = { out: () => undefined, err: () => undefined, env: context.env, version: '0', columns: 80 };
  let parsed: Parsed | undefined;
  try {
    parsed = parseArguments(argv, commands, io);
    if (parsed === undefined) throw new TypeError('the arguments ask for help');
    const exitCode = await runParsed(context, parsed);
    return { exitCode, ...written };
  } catch (error) {
    const command = parsed?.spec.name;
    const exitCode = report(error, {
      context,
      command,
      interrupted: context.signal.aborted,
      ...globalFlagsIn(argv),
      debug: false,
      logFile: undefined,
    });
    return { exitCode, ...written };
  }
}
