import { runCommand, type CommandResult, type RunCommand } from '../../src/manager/machine/command.ts';
import type { FakeSystemd } from './fake-systemd.ts';

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
  /** For slots straight on the host; then programs that copy and remove are the real ones. */
  systemd: FakeSystemd | undefined;
  readonly command: RunCommand = (program, args, deadlineMs) => {
    this.deadlines.set(program, deadlineMs);
    const answered = this.systemd?.command(program, args, deadlineMs);
    if (answered !== undefined) return answered;
    if (this.systemd !== undefined && ['cp', 'rm'].includes(program))
      return runCommand(program, args, deadlineMs);
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
