import { systemClock } from '../shared/base/clock.ts';
import type { Context } from '../shared/base/context.ts';
import { CheckCode, ExitCode } from '../shared/base/errors.ts';
import { guardOutput, type GuardedOutput } from '../shared/base/terminal-output.ts';
import { machineRoot } from '../shared/base/host-root.ts';
import { practiceOf } from '../shared/base/practice.ts';
import { Redactor } from '../shared/base/redact.ts';
import { say } from './render/lines.ts';
import { nameLog, report, warn } from './render/problem.ts';
import { currentUser } from '../shared/base/user.ts';
import { version } from '../shared/base/version.ts';
import { commands } from './commands.ts';
import { parseArguments, type Parsed } from './parse.ts';
import { runCommand } from './run-command.ts';
import { stateFolder } from './own-folders.ts';
import { noRunLog, openRunLog, type RunLog } from './run-log.ts';

/** Runs the program: builds the context, finds the command, reports errors. Returns the exit code. */
export async function main(argv: readonly string[] = process.argv.slice(2)): Promise<number> {
  const redactor = new Redactor();
  const stdout = guardOutput(process.stdout, redactor);
  const stderr = guardOutput(process.stderr, redactor);
  const exitCode = await run(argv, { redactor, stdout, stderr });
  stdout.finish();
  stderr.finish();
  // A failed write is reported after this turn of the event loop.
  await new Promise((resolve) => void setImmediate(resolve));
  const failure = stdout.failure();
  if (failure === undefined) return exitCode;
  process.stderr.write(`azp-fleet: output is lost: ${failure.message}\n`);
  if (exitCode !== ExitCode.ok) return exitCode;
  return globalFlagsIn(argv).check ? CheckCode.unknown : ExitCode.hostFailed;
}

interface Output {
  readonly redactor: Redactor;
  readonly stdout: GuardedOutput;
  readonly stderr: GuardedOutput;
}

async function run(argv: readonly string[], { redactor, stdout, stderr }: Output): Promise<number> {
  const user = currentUser(process.env);
  const { json, debug, check, noColor } = globalFlagsIn(argv);
  if (noColor) process.env['NO_COLOR'] = '1';
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt(stop));
  const state = stateFolder(process.env, user.homedir);
  const clock = systemClock(1);
  const openLog = (): RunLog => {
    // Completion runs at each Tab; its logs would displace those of other runs.
    const opened =
      argv[0] === 'completion' ? noRunLog(redactor) : openRunLog(state, clock, process.pid, redactor);
    if (opened.note !== undefined) warn(process.stderr, opened.note);
    return opened;
  };
  const base = { stdout: process.stdout, stderr: process.stderr, clock };
  let parsed: Parsed | undefined;
  let log: RunLog | undefined;
  try {
    parsed = parseArguments(argv, commands, {
      out: (text) => say(process.stdout, text),
      err: (text) => process.stderr.write(text),
      env: process.env,
      version,
      columns: process.stdout.columns ?? 80,
    });
    if (parsed === undefined) return ExitCode.ok;
    log = openLog();
    log.log('info', 'command', { command: parsed.input.commandLine, version });
    const { note, clock: practiceClock } = practiceOf(process.env);
    if (note !== undefined) warn(process.stderr, { what: note });
    const context: Context = {
      ...base,
      log,
      redactor,
      clock: practiceClock,
      root: machineRoot,
      unfiltered: { stdout: stdout.unfiltered, stderr: stderr.unfiltered },
      env: process.env,
      cwd: process.cwd(),
      home: user.homedir,
      user: user.username,
      // Opened when it is read.
      get stdin() {
        return process.stdin;
      },
      signal: stop.signal,
    };
    const exitCode = await runCommand(context, parsed, log.path);
    const isReport = parsed.spec.showsHealth === true && !parsed.input.options.flag('fix');
    const isQuiet = isReport && !debug;
    if (!isQuiet && (exitCode === ExitCode.hostFailed || exitCode === ExitCode.bug))
      nameLog(process.stderr, log.path);
    return exitCode;
  } catch (error) {
    const interrupted = stop.signal.aborted || isPromptExit(error);
    const command = parsed?.spec.name;
    log ??= openLog();
    return report(error, {
      context: { ...base, log },
      command,
      interrupted,
      json,
      debug,
      check,
      logFile: log.path,
    });
  } finally {
    log?.close();
  }
}

/** Returns the flags that apply even if the arguments cannot be parsed. */
export function globalFlagsIn(argv: readonly string[]) {
  const cut = argv.indexOf('--');
  const own = new Set(cut === -1 ? argv : argv.slice(0, cut));
  return {
    json: own.has('--json'),
    debug: own.has('--debug'),
    check: own.has('--check') && commands.some(({ name, isPlugin }) => isPlugin === true && own.has(name)),
    noColor: own.has('--no-color'),
  };
}

/** Stops the run at the first Ctrl-C or when the terminal closes; the second one exits at once. */
function interrupt(stop: AbortController): void {
  if (stop.signal.aborted) process.exit(ExitCode.interrupted);
  stop.abort();
}

/** Returns whether the error is a Ctrl-C in a prompt. */
function isPromptExit(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ExitPromptError' || error.name === 'AbortPromptError');
}
