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
  /** True for commands that contact neither a host nor a server. */
  readonly offline?: true;
  /** True for those of them that read ssh's configuration (init, setup). */
  readonly sshConfig?: boolean;
}

/** A command that ends with a result: shown as text, or with --json as one document. */
interface TellingCommand extends Declaration {
  /** The members of that document that are its own, in their order; programs read them by name. */
  readonly json: readonly string[];
  readonly load: () => Promise<Run<Result>>;
}

/** A command that hands the terminal to a person or a program. It takes no --json. */
interface HandingCommand extends Declaration {
  readonly json: false;
  readonly load: () => Promise<Run<ExitCode>>;
}

export type CommandSpec = TellingCommand | HandingCommand;

type Run<T> = (context: Context, input: CommandInput) => Promise<T>;

/** Kinds of arguments and option values. */
export type Kind =
  | 'hosts'
  | 'host'
  | 'target'
  | 'slot'
  | 'pools'
  | 'projects'
  | 'files'
  | 'inventory'
  | 'shell'
  | 'code'
  | 'other';

interface Meaning {
  readonly about: string;
  readonly kind: Kind;
}

const patterns = 'names, groups, labels (room=b12), globs (h200-*), exclusions (!h200-3)';

/** Arguments by the names that the tables of commands give them. */
const meanings: Readonly<Record<string, Meaning>> = {
  hosts: { about: `hosts: ${patterns}`, kind: 'hosts' },
  targets: { about: `hosts: ${patterns}`, kind: 'hosts' },
  host: { about: 'one host, by its name', kind: 'host' },
  target: { about: 'a host, or one slot of it: HOST/SLOT', kind: 'target' },
  pools: { about: 'agent pools, by their names', kind: 'pools' },
  pool: { about: 'an agent pool, by its name', kind: 'pools' },
  files: { about: 'files with saved output; - for standard input', kind: 'files' },
  shell: { about: 'bash, zsh or fish', kind: 'shell' },
  code: { about: 'a code, as the brackets behind a message show it, or xid.NUMBER', kind: 'code' },
};

interface Argument extends Meaning {
  /** As the table has it: `<host>`, `[hosts...]`. */
  readonly notation: string;
}

/** The arguments of a command, with what they mean. */
export function argumentsOf(spec: Pick<CommandSpec, 'positionals' | 'arguments'>): readonly Argument[] {
  return (spec.positionals ?? '')
    .split(' ')
    .filter(Boolean)
    .map((notation) => {
      const name = notation.replaceAll(/[<>[\].]/g, '');
      const own = spec.arguments?.[name];
      const { about, kind } = meanings[name] ?? { about: '', kind: 'other' };
      if (own !== undefined) return { notation, kind, about: own };
      const all = notation.endsWith('...]') && (kind === 'hosts' || kind === 'pools');
      return { notation, kind, about: all ? `${about}; without any: all` : about };
    });
}

/** What follows an option; undefined where nothing does. */
export function valueOf(flags: string): Kind | undefined {
  const [, place] = /<(\w+)>/.exec(flags) ?? [];
  if (place === undefined) return undefined;
  if (flags.includes('--inventory')) return 'inventory';
  if (place === 'file') return 'files';
  if (flags.includes('--limit')) return 'hosts';
  if (flags.includes('--gone')) return 'host';
  if (flags.includes('--slot')) return 'slot';
  if (flags.includes('--pool')) return 'pools';
  return flags.includes('--project') ? 'projects' : 'other';
}

const ofTheInventory: readonly OptionSpec[] = [
  {
    flags: '-i, --inventory <file>',
    description: 'the inventory (default: $AZP_FLEET_INVENTORY, then ./inventory.yaml)',
  },
  {
    flags: '--limit <pattern>',
    description: 'only matching hosts: name, group, label=value, glob, !exclusion, all; repeatable',
    repeat: true,
  },
];
const ofSsh: OptionSpec = {
  flags: '--ssh-config <file>',
  description: 'SSH configuration file (as ssh -F); none: use none',
};
const json: OptionSpec = { flags: '--json', description: 'one JSON document on stdout instead of text' };
const ofAll: readonly OptionSpec[] = [
  { flags: '--yes', description: 'do not ask' },
  { flags: '--debug', description: 'show stack traces and where the debug log is' },
  { flags: '--no-color', description: 'plain text' },
];

/** The options that do not belong to one command. They are taken before its name as well as after it. */
export const sharedOptions: readonly OptionSpec[] = [...ofTheInventory, ofSsh, json, ...ofAll];

/** Those of them that mean something to a command. */
export function sharedBy(spec: CommandSpec): readonly OptionSpec[] {
  return [
    ...(spec.inventory === false ? [] : ofTheInventory),
    ...(spec.inventory === false && spec.sshConfig !== true ? [] : [ofSsh]),
    ...(spec.json === false ? [] : [json]),
    ...ofAll,
  ];
}
