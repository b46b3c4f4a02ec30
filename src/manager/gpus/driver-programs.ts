import type { SmiRun } from '../../shared/health/smi-run.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';

/**
 * Runs programs that ask the NVIDIA driver, one after the other. One that hangs in the kernel cannot be ended, and
 * another one would hang beside it: while it is there, whoever asks is answered as it was, and nothing is started.
 */
export class DriverPrograms {
  readonly #command: RunCommand;
  #hanging: { readonly program: string; readonly result: CommandResult } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** The program that hangs now. */
  get hanging(): string | undefined {
    if (this.#hanging?.result.stillRunning() !== true) this.#hanging = undefined;
    return this.#hanging?.program;
  }

  /** `named`: what is run, where the program is a shell. */
  run(
    program: string,
    args: readonly string[],
    deadlineMs: number,
    named = program,
  ): Promise<CommandResult & Pick<SmiRun, 'program'>> {
    const mine = this.#last.then(() => this.#runNow(program, args, deadlineMs, named));
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #runNow(program: string, args: readonly string[], deadlineMs: number, named: string) {
    const { hanging } = this;
    if (this.#hanging !== undefined && hanging !== undefined)
      return { ...this.#hanging.result, program: hanging };
    const result = await this.#command(program, args, deadlineMs);
    if (result.timedOut) this.#hanging = { program: named, result };
    return { ...result, program: named };
  }
}
