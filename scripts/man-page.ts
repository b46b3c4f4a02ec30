import {
  argumentsOf,
  type CommandSpec,
  groupOf,
  groupTitles,
  type OptionSpec,
  sharedOptions,
} from '../src/cli/command.ts';

/** Returns man/azp-fleet.1, from the tables that `--help` uses, in the macros of man(7), which every man program reads. */
export function manPage(commands: readonly CommandSpec[], version: string): string {
  return [
    `.TH AZP\\-FLEET 1 "" "azp\\-fleet ${escaped(version)}" "User Commands"`,
    // No hyphenation and no justification: readers copy commands from here.
    '.nh',
    '.ad l',
    '.SH NAME',
    'azp\\-fleet \\- self\\-hosted GPU CI for Azure Pipelines on machines reached by SSH',
    '.SH SYNOPSIS',
    '.B azp\\-fleet',
    '.RI [ options ]',
    '.I command',
    '.RI [ arguments ]',
    '.SH DESCRIPTION',
    ...paragraph(
      'Takes machines from bare to agents that run jobs: driver, Docker Engine, container toolkit, agent image, a manager as a systemd service, the pool in Azure DevOps. The desired state is in an inventory (inventory.yaml), which azp-fleet setup creates with questions.',
    ),
    '.SH OPTIONS OF ALL COMMANDS',
    ...paragraph('They may come before a command or after it.'),
    ...sharedOptions.flatMap(option),
    ...groupTitles.flatMap((title) => [
      `.SH ${title.toUpperCase()} COMMANDS`,
      ...commands.filter((command) => groupOf(command) === title).flatMap(section),
    ]),
    '.SH EXIT STATUS',
    ...exitCodes.flatMap(([code, what]) => ['.TP', `.B ${code}`, text(what)]),
    '.SH ENVIRONMENT',
    ...environment.flatMap(([name, what]) => ['.TP', `.B ${escaped(name)}`, text(what)]),
    '.SH FILES',
    '.TP',
    `.I ${escaped('inventory.yaml')}`,
    text('the default inventory'),
    '.TP',
    `.I ${escaped('~/.local/state/azp-fleet/logs')}`,
    text('a debug log of each run, without secrets'),
    '.SH SEE ALSO',
    '.BR ssh (1),',
    '.BR ssh_config (5)',
    '.PP',
    text('The pages in the folder docs of the package: npm root -g prints its parent folder.'),
    '',
  ].join('\n');
}

const exitCodes = [
  ['0', 'success'],
  ['1', 'a host failed, is unhealthy, hung or unreachable, or a drain timed out'],
  ['2', 'usage or inventory'],
  ['3', 'changes pending'],
  ['4', 'declined at the prompt'],
  ['70', 'a bug of azp-fleet'],
  ['130', 'canceled with Ctrl-C, or ended by a signal'],
] as const;

const environment = [
  ['AZP_FLEET_INVENTORY', 'the default inventory'],
  ['XDG_STATE_HOME', 'debug logs are in azp-fleet below it'],
  ['XDG_CACHE_HOME', 'files for hosts and compiled code are in azp-fleet below it'],
  ['NO_COLOR', 'no colors'],
  ['TERM', 'dumb: no colors and no live progress'],
  ['SSH_AUTH_SOCK', 'the SSH agent that holds the keys'],
  ['NODE_EXTRA_CA_CERTS', 'a file of certificates that Node trusts in addition to its own'],
] as const;

function section(command: CommandSpec): string[] {
  const places = (command.positionals ?? '').split(' ').filter(Boolean);
  return [
    `.SS azp\\-fleet ${escaped([command.name, ...places].join(' '))}`,
    ...paragraph(`${command.summary}.`),
    ...(command.description === undefined ? [] : paragraph(command.description)),
    ...argumentsOf(command).flatMap(({ notation, about }) => ['.TP', `.I ${escaped(notation)}`, text(about)]),
    ...(command.options ?? []).flatMap(option),
    ...command.examples.flatMap(([line, what]) => [
      '.PP',
      text(`${what}:`),
      '.PP',
      '.nf',
      '.RS 4',
      text(line),
      '.RE',
      '.fi',
    ]),
  ];
}

function option({ flags, description, default: value }: OptionSpec): string[] {
  const more = value === undefined ? '' : ` (default ${value})`;
  return ['.TP', `.B ${escaped(flags)}`, text(`${description}${more}`)];
}

function paragraph(words: string): string[] {
  return ['.PP', text(words)];
}

/** Returns a line of text that roff does not take for a macro. */
function text(line: string): string {
  const safe = escaped(line);
  return /^[.']/.test(safe) ? `\\&${safe}` : safe;
}

/** Escapes characters that roff would replace by typographic ones. */
function escaped(words: string): string {
  return words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('`', '\\(ga')
    .replaceAll('~', '\\(ti')
    .replaceAll('^', '\\(ha')
    .replaceAll('"', '\\(dq')
    .replaceAll('…', '...');
}
