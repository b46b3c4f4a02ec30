import type { CommandResult, RunCommand } from '../../src/manager/machine/command.ts';

/** A program that has done its work. */
export function printed(output: string): CommandResult {
  return { code: 0, output, timedOut: false, stillRunning: () => false };
}

/** The host's programs, as a test wants them to answer. */
export class StandInPrograms {
  /** Answers by name; the default: there are none. */
  readonly programs = new Map<string, CommandResult | Promise<CommandResult>>();
  /** How long each program was given the last time, milliseconds. */
  readonly deadlines = new Map<string, number>();
  readonly command: RunCommand = (program, _, deadlineMs) => {
    this.deadlines.set(program, deadlineMs);
    return Promise.resolve(
      this.programs.get(program) ?? {
        code: 127,
        output: 'not found',
        timedOut: false,
        stillRunning: () => false,
      },
    );
  };
}
