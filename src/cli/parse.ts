import { Command, CommanderError, Option } from 'commander';

import { usageError } from '../base/errors.ts';
import type { CommandInput, CommandSpec, OptionSpec } from './command.ts';
import { Options } from './options.ts';

/** The options that every command takes. */
const common: readonly OptionSpec[] = [
  {
    flags: '-i, --inventory <file>',
    description: 'the inventory (default: $AZP_FLEET_INVENTORY, then ./inventory.yaml)',
  },
  {
    flags: '--limit <pattern>',
    description: 'only these hosts: name, group, label=value, glob, !exclusion; repeatable',
    repeat: true,
  },
];
const everywhere: readonly OptionSpec[] = [
  { flags: '--json', description: 'one JSON document on stdout instead of text' },
  { flags: '--yes', description: 'do not ask' },
  { flags: '--debug', description: 'show stack traces and where the debug log is' },
  { flags: '--no-color', description: 'plain text' },
];

const seeHelp = 'azp-fleet --help lists the commands, azp-fleet COMMAND --help its options';

export interface Parsed {
  readonly spec: CommandSpec;
  readonly input: CommandInput;
}

export interface ParseIo {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly version: string;
  readonly columns: number;
}

/** Understands the arguments. Undefined when help or the version was asked for and has been printed. */
export function parseArguments(
  argv: readonly string[],
  specs: readonly CommandSpec[],
  io: ParseIo,
): Parsed | undefined {
  let found: Parsed | undefined;
  const cut = argv.indexOf('--');
  const own = cut === -1 ? argv : argv.slice(0, cut);
  const rest = cut === -1 ? [] : argv.slice(cut + 1);
  const program = base(new Command('azp-fleet'), io)
    .description('Turns SSH-reachable GPU machines into a self-hosted GPU CI fleet for Azure Pipelines.')
    .version(io.version, '-V, --version', 'print the version')
    .helpCommand('help [command]', 'help for one command')
    .addHelpText('after', overview);
  for (const spec of specs) {
    const command = declare(parentOf(program, spec, io), spec, io);
    command.action(() => {
      found = { spec, input: { ...understand(command, spec, rest, argv, io), commands: specs } };
    });
  }
  try {
    program.parse(own, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0 || error.code === 'commander.help') return undefined;
    const what = error.message.replace(/^error: /, '');
    throw usageError({ code: 'usage.arguments', what, next: seeHelp }, error);
  }
  return found;
}

const overview = `
First steps:
  azp-fleet setup                        answer questions, get an inventory
  azp-fleet plan inventory.yaml          what would change, without changing it
  azp-fleet provision inventory.yaml     do it, then prove it
  azp-fleet status                       one table of the whole fleet

Exit codes: 0 well · 1 a host failed · 2 usage or inventory · 3 changes pending
            4 declined · 70 our bug · 130 interrupted`;

function base(command: Command, io: ParseIo): Command {
  return command
    .exitOverride()
    .showSuggestionAfterError()
    .configureHelp({ helpWidth: Math.min(io.columns, 100), showGlobalOptions: false })
    .configureOutput({ writeOut: io.out, writeErr: () => undefined });
}

/** `inventory show` lives below a group command `inventory`. */
function parentOf(program: Command, spec: CommandSpec, io: ParseIo): Command {
  const [group, leaf] = spec.name.split(' ');
  if (group === undefined || leaf === undefined) return program;
  const known = program.commands.find((command) => command.name() === group);
  if (known) return known;
  const created = base(program.command(group), io).description(`${group} commands`);
  return created;
}

function declare(parent: Command, spec: CommandSpec, io: ParseIo): Command {
  const name = spec.name.split(' ').at(-1) ?? spec.name;
  const command = base(parent.command(`${name} ${spec.positionals ?? ''}`.trim()), io)
    .allowExcessArguments()
    .summary(spec.summary)
    .description(`${spec.summary}\n${spec.description ?? ''}`.trim());
  const shared = spec.inventory === false ? everywhere : [...common, ...everywhere];
  for (const option of [...(spec.options ?? []), ...shared]) {
    const declared = new Option(option.flags, option.description);
    if (option.default !== undefined) declared.default(option.default);
    if (option.repeat === true)
      declared.argParser((value: string, all: string[] | undefined) => [...(all ?? []), value]);
    command.addOption(declared);
  }
  const width = Math.max(...spec.examples.map(([line]) => line.length));
  const lines = spec.examples.map(([line, what]) =>
    line.length + what.length > 74
      ? `  ${line}\n      ${what}`
      : `  ${line.padEnd(Math.min(width, 74 - what.length))}  ${what}`,
  );
  return command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
}

function understand(
  command: Command,
  spec: CommandSpec,
  rest: readonly string[],
  argv: readonly string[],
  io: ParseIo,
): Omit<CommandInput, 'commands'> {
  const options = new Options(command.opts());
  const isFile = (argument: string) => spec.inventory !== false && /\.ya?ml$/.test(argument);
  const files = command.args.filter(isFile);
  if (files.length > 1)
    throw usageError({
      code: 'usage.two-inventories',
      what: 'two inventories were given',
      seen: files.join(', '),
      next: 'name one',
    });
  const positionals = command.args.filter((argument) => !isFile(argument));
  checkCount(command, positionals);
  const inventory =
    options.string('inventory') ?? files[0] ?? io.env['AZP_FLEET_INVENTORY'] ?? 'inventory.yaml';
  return {
    positionals,
    rest,
    options,
    inventory,
    commandLine: ['azp-fleet', ...argv].join(' '),
  };
}

/** Counted here and not by commander, because an inventory file may stand anywhere among the arguments. */
function checkCount(command: Command, positionals: readonly string[]): void {
  const declared = command.registeredArguments;
  const most = declared.some((argument) => argument.variadic) ? Infinity : declared.length;
  const missing = declared.filter((argument) => argument.required)[positionals.length];
  if (positionals.length <= most && missing === undefined) return;
  throw usageError({
    code: 'usage.arguments',
    what: missing === undefined ? 'too many arguments' : `the argument <${missing.name()}> is missing`,
    expected: `azp-fleet ${[command.parent?.name(), command.name()].filter((name) => name !== 'azp-fleet').join(' ')} ${command.usage()}`,
    seen: positionals.length === 0 ? 'nothing' : positionals.join(' '),
    next: seeHelp,
  });
}
