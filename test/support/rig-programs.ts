import { type CommandResult, runCommand, type RunCommand } from '../../src/manager/machine/command.ts';
import type { Use } from '../../src/manager/idle/uses.ts';
import type { ProcessFacts, ReadProcess } from '../../src/manager/machine/process.ts';
import type { FakeSystemd } from './fake-systemd.ts';

/** Returns the result of a program that succeeded. */
export function printed(output: string): CommandResult {
  return { code: 0, output, timedOut: false, stillRunning: () => false };
}

/** Returns the result of a program that did not start, or was killed. */
export function failed(code: number, output: string): CommandResult {
  return { ...printed(output), code };
}

type Answer = CommandResult | Promise<CommandResult>;

/** The host's programs, with the answers that a test sets. */
export class StandInPrograms {
  /** Answers by name, with the first argument (which counts first) or without, for all arguments or by arguments; a program without an answer does not exist. */
  readonly programs = new Map<string, Answer | ((args: readonly string[]) => Answer)>([
    // No process uses the GPUs.
    ['nvidia-smi', printed('')],
    ['nvidia-smi nvlink', printed('')],
  ]);
  /** Process descriptions of the machine, by pid. */
  readonly processes = new Map<number, ProcessFacts>();
  readonly process: ReadProcess = (pid) => Promise.resolve(this.processes.get(pid));
  /** Other GPU processes on the machine. */
  presence: readonly Use[] = [];
  /** Last timeout of each program, milliseconds. */
  readonly deadlines = new Map<string, number>();
  /** For agents in host mode: programs that copy and remove are the real ones. */
  systemd: FakeSystemd | undefined;
  /** The command lines that ran. */
  readonly calls: string[] = [];
  readonly command: RunCommand = (program, args, deadlineMs) => {
    this.deadlines.set(program, deadlineMs);
    this.calls.push([program, ...args].join(' '));
    const answered = this.systemd?.command(program, args, deadlineMs);
    if (answered !== undefined) return answered;
    if (this.systemd !== undefined && ['cp', 'rm'].includes(program))
      return runCommand(program, args, deadlineMs);
    const answer =
      this.programs.get(`${program} ${args[0]}`) ?? this.programs.get(program) ?? failed(127, 'not found');
    return Promise.resolve(typeof answer === 'function' ? answer(args) : answer);
  };
}
