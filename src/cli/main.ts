import { userInfo } from 'node:os';

import type { Context } from '../base/context.ts';
import { ExitCode } from '../base/errors.ts';
import { guardOutput } from '../base/guard-output.ts';
import { Redactor } from '../base/redact.ts';
import { nameLog, report } from '../render/problem.ts';
import { version } from '../base/version.ts';
import { commands } from './commands.ts';
import { parseArguments } from './parse.ts';
import { openRunLog } from './run-log.ts';
import { stateFolder } from './state-folder.ts';

/** The entry point: builds the context, finds the command, reports what went wrong. Returns the exit code. */
export async function main(argv: readonly string[] = process.argv.slice(2)): Promise<number> {
  const user = userInfo();
  const json = argv.includes('--json');
  const debug = argv.includes('--debug');
  if (argv.includes('--no-color')) process.env['NO_COLOR'] = '1';
  const stop = new AbortController();
  process.on('SIGINT', () => interrupt(stop));
  process.on('SIGTERM', () => interrupt(stop));
  const redactor = new Redactor();
  const state = stateFolder(process.env, user.homedir);
  const log = openRunLog(state, new Date(), process.pid, redactor);
  const stdout = guardOutput(process.stdout, redactor);
  const stderr = guardOutput(process.stderr, redactor);
  const context: Context = {
    env: process.env,
    cwd: process.cwd(),
    home: user.homedir,
    user: user.username,
    stdout: process.stdout,
    stderr: process.stderr,
    unfiltered: { stdout: stdout.unfiltered, stderr: stderr.unfiltered },
    stdin: process.stdin,
    now: Date.now,
    signal: stop.signal,
    log,
  };
  if (log.note !== undefined) process.stderr.write(`! ${log.note}\n`);
  try {
    const parsed = parseArguments(argv, commands, {
      out: (text) => process.stdout.write(text),
      err: (text) => process.stderr.write(text),
      env: process.env,
      version,
      columns: process.stdout.columns ?? 80,
    });
    if (parsed === undefined) return ExitCode.ok;
    log.log('info', 'command', { command: parsed.input.commandLine, version });
    const module = await parsed.spec.load();
    const exitCode = await module.run(context, parsed.input);
    if (exitCode === ExitCode.hostFailed || exitCode === ExitCode.bug) nameLog(process.stderr, log.path);
    return exitCode;
  } catch (error) {
    if (stop.signal.aborted || isPromptExit(error)) return ExitCode.interrupted;
    return report(error, { context, json, debug, logFile: log.path });
  } finally {
    stdout.finish();
    stderr.finish();
    log.close();
  }
}

/** The first Ctrl-C asks everybody to stop; the second one ends the process. */
function interrupt(stop: AbortController): void {
  if (stop.signal.aborted) process.exit(ExitCode.interrupted);
  stop.abort();
}

/** Ctrl-C inside a prompt. */
function isPromptExit(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ExitPromptError' || error.name === 'AbortPromptError');
}
