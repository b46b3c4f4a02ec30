import type { Context } from '../shared/base/context.ts';
import type { ExitCode } from '../shared/base/errors.ts';
import type { Options } from './options.ts';
import type { Result } from './result.ts';

/** One option of a command, in commander's notation: `--parallel <n>`, `-o, --out <file>`, `--no-probe`. */
export interface OptionSpec {
  readonly flags: string;
  readonly description: string;
  readonly default?: string;
  /** Repeatable options gather a list. */
  readonly repeat?: boolean;
}

/** What a command is given once the arguments are understood. */
export interface CommandInput {
  /** Positional arguments that are not the inventory file. */
  readonly positionals: readonly string[];
  /** Everything after `--`. */
  readonly rest: readonly string[];
  readonly options: Options;
  /** The inventory's path: a positional ending in .yaml or .yml, -i, $AZP_FLEET_INVENTORY or ./inventory.yaml. */
  readonly inventory: string;
  /** The command line as the user typed it, without secrets: for locks and journals. */
  readonly commandLine: string;
  /** Every command there is, for those that speak of the others. */
  readonly commands: readonly CommandSpec[];
}

/** A command's declaration: light and eager. Its implementation is imported when it runs. */
interface Declaration {
  /** Words as typed: `provision`, `inventory show`. */
  readonly name: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** More for the command's own help. */
  readonly description?: string;
  /** commander's notation: `[targets...]`, `<hosts> [command...]`. */
  readonly positionals?: string;
  /** Those of them that mean something else here than in `arguments.ts`, by name. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: readonly OptionSpec[];
  /** Command line → what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** False for commands that read no inventory (completion, init). Default true. */
  readonly inventory?: boolean;
  /** True for those of them that read ssh's configuration (init, setup). */
  readonly sshConfig?: boolean;
}

/** A command that ends with a result: shown as text, or with --json as one document. */
interface TellingCommand extends Declaration {
  /** The members of that document that are its own, in their order; programs read them by name. */
  readonly json: readonly string[];
  readonly load: () => Promise<Implementation<Result>>;
}

/** A command that hands the terminal to a person or a program. It takes no --json. */
interface HandingCommand extends Declaration {
  readonly json: false;
  readonly load: () => Promise<Implementation<ExitCode>>;
}

export type CommandSpec = TellingCommand | HandingCommand;

interface Implementation<T> {
  run(context: Context, input: CommandInput): Promise<T>;
}
