import { PassThrough } from 'node:stream';

import type { Context } from '../../src/base/context.ts';
import { FleetError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { commands } from '../../src/cli/commands.ts';
import { parseArguments } from '../../src/cli/parse.ts';
import { problemLines } from '../../src/render/problem.ts';

export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in this process as a user would type it; nobody sits at the terminal. */
export async function runCommand(
  argv: readonly string[],
  place: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<CommandResult> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') =>
    new PassThrough().on('data', (data: Buffer) => {
      written[name] += data.toString();
    });
  const { cwd, env = {} } = place;
  const context: Context = {
    env,
    cwd,
    home: cwd,
    user: 'me',
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    stdin: new PassThrough(),
    now: () => Date.parse('2026-11-21T12:00:00Z'),
    signal: new AbortController().signal,
    log: silentLogger,
  };
  const io = { out: () => undefined, err: () => undefined, env, version: '0', columns: 80 };
  try {
    const parsed = parseArguments(argv, commands, io);
    if (parsed === undefined) throw new TypeError('help was asked for');
    const exitCode = await (await parsed.spec.load()).run(context, parsed.input);
    return { exitCode, ...written };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return {
      exitCode: error.exitCode,
      stdout: written.stdout,
      stderr: problemLines(error.problem, 79).join('\n'),
    };
  }
}
