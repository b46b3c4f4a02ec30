import { userInfo } from 'node:os';

import { systemClock } from '../shared/base/clock.ts';
import type { Context } from '../shared/base/context.ts';
import { ExitCode } from '../shared/base/errors.ts';
import { guardOutput } from '../shared/base/terminal-output.ts';
import { machineRoot } from '../shared/base/host-root.ts';
import { practiceOf } from '../shared/base/practice.ts';
import { Redactor } from '../shared/base/redact.ts';
import { say } from './render/lines.ts';
import { nameLog, report, warn } from './render/problem.ts';
import { version } from '../shared/base/version.ts';
import { commands } from './commands.ts';
import { parseArguments, type Parsed } from './parse.ts';
import { runCommand } from './run-command.ts';
import { noRunLog, openRunLog, stateFolder } from './run-log.ts';

/** The entry point: builds the context, finds the command, reports what went wrong. Returns the exit code. */
export async function main(argv: readonly string[] = process.argv.slice(2)): Promise<number> {
  const user = userInfo();
  const { json, debug, noColor } = wishesIn(argv);
  if (noColor) process.env['NO_COLOR'] = '1';
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt(stop));
  const redactor = new Redactor();
  const state = stateFolder(process.env, user.homedir);
  const clock = systemClock(1);
  // It runs at each Tab, and would push the logs of other runs out.
  const log = argv[0] === 'completion' ? noRunLog(redactor) : openRunLog(state, clock, process.pid, redactor);
  const stdout = guardOutput(process.stdout, redactor);
  const stderr = guardOutput(process.stderr, redactor);
  const speaking = { stdout: process.stdout, stderr: process.stderr, clock, log };
  if (log.note !== undefined) warn(process.stderr, { what: log.note });
  let parsed: Parsed | undefined;
  try {
    parsed = parseArguments(argv, commands, {
      out: (text) => say(process.stdout, text),
      err: (text) => process.stderr.write(text),
      env: process.env,
      version,
      columns: process.stdout.columns ?? 80,
    });
    if (parsed === undefined) return ExitCode.ok;
    log.log('info', 'command', { command: parsed.input.commandLine, version });
    const { note, clock: practiceClock } = practiceOf(process.env);
    if (note !== undefined) warn(process.stderr, { what: note });
    const context: Context = {
      ...speaking,
      clock: practiceClock,
      root: machineRoot,
      unfiltered: { stdout: stdout.unfiltered, stderr: stderr.unfiltered },
      env: process.env,
      cwd: process.cwd(),
      home: user.homedir,
      user: user.username,
      stdin: process.stdin,
      signal: stop.signal,
    };
    const exitCode = await runCommand(context, parsed, log.path);
    if (exitCode === ExitCode.hostFailed || exitCode === ExitCode.bug) nameLog(process.stderr, log.path);
    return exitCode;
  } catch (error) {
    const interrupted = stop.signal.aborted || isPromptExit(error);
    const command = parsed?.spec.name;
    return report(error, { context: speaking, command, interrupted, json, debug, logFile: log.path });
  } finally {
    stdout.finish();
    stderr.finish();
    log.close();
  }
}

/** What must be known before the arguments are understood, and also where they are not. */
function wishesIn(argv: readonly string[]) {
  const cut = argv.indexOf('--');
  const own = new Set(cut === -1 ? argv : argv.slice(0, cut));
  return { json: own.has('--json'), debug: own.has('--debug'), noColor: own.has('--no-color') };
}

/** The first Ctrl-C asks everybody to stop, and so does a terminal that is closed; the second one ends the process. */
function interrupt(stop: AbortController): void {
  if (stop.signal.aborted) process.exit(ExitCode.interrupted);
  stop.abort();
}

/** Ctrl-C inside a prompt. */
function isPromptExit(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ExitPromptError' || error.name === 'AbortPromptError');
}
