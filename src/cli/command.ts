import type { Context } from '../shared/base/context.ts';
import type { ExitCode } from '../shared/base/errors.ts';
import type { Options } from './options.ts';
import type { Result } from './result.ts';

/** One option of a command, in commander's notation: `--parallel <n>`, `-o, --out <file>`, `--no-probe`. */
export interface OptionSpec {
  readonly flags: string;
  readonly description: string;
  readonly default?: string;
  /** Repeatable options collect a list. */
  readonly repeat?: boolean;
}

/** The parsed arguments of a command. */
export interface CommandInput {
  /** Positional arguments that are not the inventory file. */
  readonly positionals: readonly string[];
  /** Everything after `--`. */
  readonly rest: readonly string[];
  readonly options: Options;
  /** The inventory's path: a positional ending in .yaml or .yml, -i, $AZP_FLEET_INVENTORY or ./inventory.yaml. */
  readonly inventory: string;
  /** The command line as the user typed it, quoted for a shell: for locks, journals and next actions. */
  readonly commandLine: string;
  /** All commands, for completion. */
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
  /** Its group in `--help`. Default: Advanced. */
  readonly group?: (typeof groupTitles)[number];
  /** commander's notation: `[targets...]`, `<hosts> [command...]`. */
  readonly positionals?: string;
  /** Descriptions that replace those of `meanings`, by the argument's name. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: readonly OptionSpec[];
  /** Options that other tools have and this command lacks, with the next action instead. */
  readonly instead?: readonly { readonly options: readonly string[]; readonly next: string }[];
  /** Pairs of command line and what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** False for commands that read no inventory (completion, init). Default true. */
  readonly inventory?: boolean;
  /** True for a command that shows the state of hosts: a host that failed is no failure of its run, so its log is not named. */
  readonly showsHealth?: true;
  /** True for a command whose --check exits as a monitoring plugin, also where the arguments are wrong. */
  readonly isPlugin?: true;
  /** True for commands that contact neither a host nor a server. */
  readonly offline?: true;
  /** True for commands without an inventory that read ssh's configuration (init, setup). */
  readonly sshConfig?: boolean;
}

/** A command that ends with a result: shown as text, or with --json as one document. */
interface ResultCommand extends Declaration {
  /** The command's own members of that document, in order; programs read them by name. */
  readonly json: readonly string[];
  readonly load: () => Promise<Run<Result>>;
}

/** A command that uses the terminal itself (setup, ssh). It takes no --json. */
interface InteractiveCommand extends Declaration {
  readonly json: false;
  readonly load: () => Promise<Run<ExitCode>>;
}

export type CommandSpec = ResultCommand | InteractiveCommand;

type Run<T> = (context: Context, input: CommandInput) => Promise<T>;

/** Kinds of arguments and option values. */
export type Kind =
  | 'hosts'
  | 'host'
  | 'target'
  | 'targets'
  | 'slot'
  | 'pools'
  | 'projects'
  | 'files'
  | 'inventory'
  | 'shell'
  | 'part'
  | 'code'
  | 'other';

/** The first argument of `upgrade`. */
export const upgradeParts = ['driver', 'docker', 'toolkit', 'agent', 'manager', 'all'] as const;

interface Meaning {
  readonly about: string;
  readonly kind: Kind;
}

const patterns = 'names, groups, labels (room=b12), globs (h200-*), exclusions (!h200-3)';

const oneSlot = 'HOST/SLOT or HOST/AGENT';

/** Argument descriptions, by the name that an argument has in the command tables. */
const meanings: Readonly<Record<string, Meaning>> = {
  hosts: { about: `hosts: ${patterns}`, kind: 'hosts' },
  targets: { about: `hosts: ${patterns}; one slot of a host: ${oneSlot}`, kind: 'targets' },
  host: { about: 'one host, by its name', kind: 'host' },
  other: { about: 'the host to compare it with', kind: 'host' },
  target: { about: `a host, or one slot of it: ${oneSlot}`, kind: 'target' },
  pools: { about: 'agent pools, by their names', kind: 'pools' },
  pool: { about: 'an agent pool, by its name', kind: 'pools' },
  files: { about: 'files with saved output; - for standard input', kind: 'files' },
  shell: { about: 'bash, zsh or fish', kind: 'shell' },
  part: { about: 'driver, docker, toolkit, agent, manager or all; without it: all', kind: 'part' },
  code: { about: 'a code, as the brackets behind a message show it, or xid.NUMBER', kind: 'code' },
};

interface Argument extends Meaning {
  /** As in the command table: `<host>`, `[hosts...]`. */
  readonly notation: string;
}

/** Returns the arguments of a command with their descriptions. */
export function argumentsOf(spec: Pick<CommandSpec, 'positionals' | 'arguments'>): readonly Argument[] {
  return (spec.positionals ?? '')
    .split(' ')
    .filter(Boolean)
    .map((notation) => {
      const name = notation.replaceAll(/[<>[\].]/g, '');
      const own = spec.arguments?.[name];
      const { about, kind } = meanings[name] ?? { about: '', kind: 'other' };
      if (own !== undefined) return { notation, kind, about: own };
      const all = notation.endsWith('...]') && ['hosts', 'targets', 'pools'].includes(kind);
      return { notation, kind, about: all ? `${about}; without any: all` : about };
    });
}

/** Returns the kind of an option's value; undefined for options without a value. */
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

const inventoryOptions: readonly OptionSpec[] = [
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
const sshConfigOption: OptionSpec = {
  flags: '--ssh-config <file>',
  description: 'SSH configuration file (as ssh -F); none: use none',
};
const jsonOption: OptionSpec = {
  flags: '--json',
  description: 'one JSON document on stdout instead of text',
};
const commonOptions: readonly OptionSpec[] = [
  { flags: '--yes', description: 'do not ask' },
  { flags: '--debug', description: 'show stack traces and where the debug log is' },
  { flags: '--no-color', description: 'plain text' },
];

/** Options shared by commands. They are accepted before and after the command's name. */
export const sharedOptions: readonly OptionSpec[] = [
  ...inventoryOptions,
  sshConfigOption,
  jsonOption,
  ...commonOptions,
];

/** The groups of `--help`, in its order. */
export const groupTitles = ['Start', 'Change', 'Inspect', 'Repair', 'Advanced'] as const;

/** Returns the group of a command. */
export function groupOf({ group = 'Advanced' }: Pick<CommandSpec, 'group'>): (typeof groupTitles)[number] {
  return group;
}

/** Returns whether the command ignores --inventory. Commands that write an inventory refuse it. */
export function ignoresInventory(spec: CommandSpec): boolean {
  return spec.inventory === false && spec.sshConfig !== true;
}

/** Returns the shared options that a command accepts. */
export function sharedBy(spec: CommandSpec): readonly OptionSpec[] {
  return [
    ...(spec.inventory === false ? [] : inventoryOptions),
    ...(spec.inventory === false && spec.sshConfig !== true ? [] : [sshConfigOption]),
    ...(spec.json === false ? [] : [jsonOption]),
    ...commonOptions,
  ];
}
