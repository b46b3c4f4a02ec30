import { Command, CommanderError, Help, Option } from 'commander';

import { FleetError, usageError } from '../shared/base/errors.ts';
import { completed, nearest } from '../shared/base/nearest.ts';
import { quote } from '../shared/base/shell.ts';
import {
  argumentsOf,
  type CommandInput,
  type CommandSpec,
  groupOf,
  groupTitles,
  ignoresInventory,
  type OptionSpec,
  sharedBy,
  sharedOptions,
} from './command.ts';
import { Options } from './options.ts';

const seeHelp = 'see the commands: azp-fleet --help; the options of one: azp-fleet COMMAND --help';

export interface Parsed {
  readonly spec: CommandSpec;
  readonly input: CommandInput;
}

interface ParseIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly columns: number;
}

/** Parses the arguments. Returns undefined after it has printed help or the version. */
export function parseArguments(
  argv: readonly string[],
  specs: readonly CommandSpec[],
  io: ParseIo,
): Parsed | undefined {
  let found: Parsed | undefined;
  let failed: CommandSpec | undefined;
  const cut = argv.indexOf('--');
  const own = cut === -1 ? argv : argv.slice(0, cut);
  const rest = cut === -1 ? [] : argv.slice(cut + 1);
  let help = '';
  const print = { ...io, out: (text: string) => void (help += text) };
  const program = base(new Command('azp-fleet'), print)
    .description('Turn machines with GPUs into self-hosted agents for Azure Pipelines.')
    .version(io.version, '-V, --version', 'print the version')
    .addHelpText('after', overview);
  for (const option of sharedOptions) program.addOption(declaredOption(option));
  const isNamed = ({ name }: CommandSpec) => own.some((word) => name.split(' ').at(-1) === word);
  for (const spec of candidates(own, specs)) {
    const parent = parentOf(program, spec, specs, print);
    const command = declare(parent, spec, print, isNamed(spec)).exitOverride((error) => {
      failed = spec;
      throw error;
    });
    command.action(() => {
      found = { spec, input: { ...inputOf(program, command, spec, rest, argv, io), commands: specs } };
    });
  }
  for (const parent of [program, ...program.commands.filter(({ commands }) => commands.length > 0)]) {
    declareHelp(parent);
    parent.on('command:*', ([word = '']: readonly string[]) => {
      throw unknownCommand(parent, word);
    });
  }
  try {
    program.parse(own, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const isUnnamed = error.code === 'commander.help' && error.exitCode !== 0;
    if (isUnnamed && program.opts()['json'] === true)
      throw usageError({ code: 'usage.arguments', what: 'the command is missing', next: seeHelp }, error);
    io.out(help);
    if (error.exitCode === 0 || isUnnamed) return undefined;
    throw parseError(error, failed ?? specs.find(({ name }) => `${own.join(' ')} `.startsWith(`${name} `)));
  }
  return found;
}

const overview = `
Global options go before or after the command. For the options of a command:
azp-fleet COMMAND --help

First steps:
  azp-fleet setup                        answer questions, get an inventory
  azp-fleet plan inventory.yaml          what would change, without changing it
  azp-fleet provision inventory.yaml     make the changes and verify them
  azp-fleet status                       one table of the whole fleet

Exit codes: 0 ok · 1 a host failed · 2 usage or inventory · 3 changes pending
            4 declined · 70 bug in azp-fleet · 130 canceled (Ctrl-C)`;

function base(command: Command, io: ParseIo): Command {
  return (
    command
      .exitOverride()
      .showSuggestionAfterError()
      .configureHelp({
        helpWidth: Math.min(io.columns, 100),
        showGlobalOptions: false,
        subcommandTerm: (listed) => new Help().subcommandTerm(listed).replace(' [options]', ''),
      })
      // commander would write help for a missing command to stderr; errors are reported by main.ts.
      .configureOutput({ writeOut: io.out, writeErr: io.out, outputError: () => undefined })
  );
}

/**
 * Returns the commands that the words may call. Where the first word is none, it may be an option's value or a mistake:
 * then all commands are candidates, also for the suggestion.
 */
function candidates(own: readonly string[], specs: readonly CommandSpec[]): readonly CommandSpec[] {
  const words = own.filter((word) => !word.startsWith('-'));
  const groups = Map.groupBy(specs, ({ name }) => name.split(' ')[0]);
  return groups.has(words[0]) ? [...new Set(words)].flatMap((word) => groups.get(word) ?? []) : specs;
}

/** Returns the program, or the group command: `inventory` for `inventory show`. */
function parentOf(program: Command, spec: CommandSpec, specs: readonly CommandSpec[], io: ParseIo): Command {
  const [group, leaf] = spec.name.split(' ');
  if (group === undefined || leaf === undefined) return program;
  const known = program.commands.find((command) => command.name() === group);
  if (known) return known;
  const leaves = specs.flatMap(({ name }) =>
    name.startsWith(`${group} `) ? name.slice(group.length + 1) : [],
  );
  return base(program.command(group), io)
    .description(`${group} ${leaves.join(', ')}`)
    .helpGroup(`${groupOf(spec)}:`);
}

/** Declares a command; its options and examples only if it may be the one that is called, because there are hundreds. */
function declare(parent: Command, spec: CommandSpec, io: ParseIo, isNamed: boolean): Command {
  const name = spec.name.split(' ').at(-1) ?? spec.name;
  const command = base(parent.command(name), io);
  if (parent.parent === null) command.helpGroup(`${groupOf(spec)}:`);
  command
    .allowExcessArguments()
    .summary(spec.summary)
    .description(`${sentence(spec.summary)}\n${spec.description ?? ''}`.trim());
  for (const { notation, about } of argumentsOf(spec)) command.argument(notation, about);
  if (!isNamed) return command;
  for (const option of [...(spec.options ?? []), ...sharedBy(spec)])
    command.addOption(declaredOption(option));
  return command.addHelpText('after', `\nExamples:\n${exampleLines(spec.examples).join('\n')}`);
}

/** Returns a summary as a sentence, for the command's own help. */
function sentence(summary: string): string {
  return `${summary.slice(0, 1).toUpperCase()}${summary.slice(1)}.`;
}

/** Returns examples with their meanings beside them in one column, where 80 columns have space, otherwise below. */
function exampleLines(examples: CommandSpec['examples']): string[] {
  const fits = (width: number, [line, what]: readonly [string, string]): boolean =>
    line.length <= width && width + what.length <= 74;
  const beside = (width: number): number => examples.filter((each) => fits(width, each)).length;
  const [width = 0] = examples
    .map(([line]) => line.length)
    .toSorted((one, other) => beside(other) - beside(one));
  return examples.map(([line, what]) =>
    fits(width, [line, what]) ? `  ${line.padEnd(width)}  ${what}` : `  ${line}\n      ${what}`,
  );
}

function declaredOption({ flags, description, default: value, repeat }: OptionSpec): Option {
  const option = new Option(flags, description);
  if (value !== undefined) option.default(value);
  if (repeat === true)
    option.argParser((given: string, all: string[] | undefined) => [...(all ?? []), given]);
  return option;
}

/**
 * Returns the command's own options and the shared ones. The program parses the shared ones at any position; the
 * command declares them only for its help.
 */
function optionsOf(program: Command, command: Command, spec: CommandSpec): Options {
  const given = Object.entries(program.opts()).filter(
    ([name]) => program.getOptionValueSource(name) === 'cli',
  );
  const known = new Set(sharedBy(spec).map((option) => declaredOption(option).attributeName()));
  if (ignoresInventory(spec)) known.add('inventory');
  const [stray] = given.find(([name]) => !known.has(name)) ?? [];
  if (stray !== undefined)
    throw usageError({
      code: 'usage.arguments',
      what: `${spec.name} does not take --${stray}`,
      next: stray === 'inventory' ? 'name the file with -o FILE' : seeHelpFor(spec),
    });
  return new Options({ ...command.opts(), ...Object.fromEntries(given) });
}

function inputOf(
  program: Command,
  command: Command,
  spec: CommandSpec,
  rest: readonly string[],
  argv: readonly string[],
  io: ParseIo,
): Omit<CommandInput, 'commands'> {
  const options = optionsOf(program, command, spec);
  const isFile = (argument: string) => spec.inventory !== false && /\.ya?ml$/.test(argument);
  const named = options.string('inventory');
  const files = [...(named === undefined ? [] : [named]), ...command.args.filter(isFile)];
  if (files.length > 1)
    throw usageError({
      code: 'usage.two-inventories',
      what: 'two inventories were given',
      seen: files.join(', '),
      next: 'name one inventory',
    });
  const positionals = command.args.filter((argument) => !isFile(argument));
  checkCount(command, spec, positionals);
  const inventory = files[0] ?? io.env['AZP_FLEET_INVENTORY'] ?? 'inventory.yaml';
  return {
    positionals,
    rest,
    options,
    inventory,
    commandLine: ['azp-fleet', ...argv.map((word) => quote(word.replaceAll('\0', '')))].join(' '),
  };
}

/** Returns commander's error as a usage error, with its suggestion. `spec`: the command with the mistake, if known. */
function parseError(error: CommanderError, spec: CommandSpec | undefined): Error {
  const message = error.message.replace(/^error: /, '').trim();
  const [, what = message, meant] = /^([^]*?)\s*\(Did you mean ([^)]+)\?\)$/.exec(message) ?? [];
  const [, unknown = ''] = /^unknown option '([^']+)'/.exec(what) ?? [];
  const see =
    spec?.instead?.find(({ options }) => options.includes(unknown))?.next ??
    (spec === undefined ? seeHelp : seeHelpFor(spec));
  const next = meant === undefined ? see : `did you mean "${meant}"? ${see}`;
  return usageError({ code: 'usage.arguments', what, next }, error);
}

function seeHelpFor({ name }: Pick<CommandSpec, 'name'>): string {
  return `see azp-fleet ${name} --help`;
}

/** Checks the number of arguments. commander cannot, because an inventory file may be at any position. */
function checkCount(command: Command, spec: CommandSpec, positionals: readonly string[]): void {
  const declared = command.registeredArguments;
  const most = declared.some((argument) => argument.variadic) ? Infinity : declared.length;
  const missing = declared.filter((argument) => argument.required)[positionals.length];
  if (positionals.length <= most && missing === undefined) return;
  throw usageError({
    code: 'usage.arguments',
    what: missing === undefined ? 'too many arguments' : `the argument <${missing.name()}> is missing`,
    expected: `azp-fleet ${spec.name} ${command.usage()}`,
    seen: positionals.length === 0 ? 'nothing' : positionals.join(' '),
    next: seeHelpFor(spec),
  });
}

/** Adds `help WORDS` to a program or group. */
function declareHelp(parent: Command): void {
  parent
    .helpCommand(false)
    .command('help [command...]')
    .description('help for one command')
    .helpGroup(parent.parent === null ? `${groupTitles.at(-1)}:` : 'Commands:')
    .action((words: readonly string[]) => found(parent, words).help())
    .copyInheritedSettings(parent);
}

function found(parent: Command, words: readonly string[]): Command {
  return words.reduce((from, word) => {
    const command = from.commands.find((each) => each.name() === word);
    if (command === undefined) throw unknownCommand(from, word);
    return command;
  }, parent);
}

/** Returns the error for an unknown command, with similar commands. */
function unknownCommand(parent: Command, word: string): FleetError {
  const path = pathOf(parent);
  const known = parent.commands;
  const names = known.map((command) => command.name());
  const near = nearest(word, names) ?? completed(word, names);
  const meant =
    near === undefined
      ? known.flatMap((group) => group.commands.filter((command) => command.name() === word))
      : known.filter((command) => command.name() === near);
  return usageError({
    code: 'usage.arguments',
    what: `there is no command "${[...path.slice(1), word].join(' ')}"`,
    next: meant.length === 0 ? seeHelpOf(path, known.length > 0) : `did you mean ${oneOf(meant)}?`,
  });
}

/** Returns the words of a command: `azp-fleet`, `pool`, `list`. */
function pathOf(command: Command): readonly string[] {
  return [...(command.parent === null ? [] : pathOf(command.parent)), command.name()];
}

function seeHelpOf(path: readonly string[], isGroup: boolean): string {
  return `see ${isGroup ? 'the commands: ' : ''}${path.join(' ')} --help`;
}

function oneOf(commands: readonly Command[]): string {
  const names = commands.map((command) => `"${pathOf(command).join(' ')}"`);
  return [names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ');
}
