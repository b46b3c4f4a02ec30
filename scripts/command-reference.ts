import {
  argumentsOf,
  type CommandSpec,
  groupOf,
  groupTitles,
  ignoresInventory,
  type OptionSpec,
  sharedBy,
  sharedOptions,
} from '../src/cli/command.ts';

/** Returns docs/commands.md: every command with its options and examples, from the tables that `--help` uses. */
export function commandReference(commands: readonly CommandSpec[]): string {
  const head = `# Commands

    azp-fleet --help
    azp-fleet help provision

${groupTitles.map((title) => listOf(title, commands)).join('\n\n')}

\`npm run docs\` writes this page from the tables in \`src/cli/commands\`.

## Options of all commands

They may come before, between and after a command's words: \`azp-fleet --json status\` is
\`azp-fleet status --json\`. Of two values the later one counts; repeatable options collect them. An
argument that ends in \`.yaml\` or \`.yml\` is the inventory. Everything after \`--\` belongs to the command.

| option | meaning |
| --- | --- |
${sharedOptions.map(row).join('\n')}
${exceptions(commands, sharedOptions)}

## Environment

| variable | meaning |
| --- | --- |
| \`AZP_FLEET_INVENTORY\` | the default inventory |
| \`XDG_STATE_HOME\` | debug logs and the last run of each inventory are in \`azp-fleet\` below it, if only you can write there; default \`~/.local/state\` |
| \`XDG_CONFIG_HOME\` | a token pasted into \`setup\` is in \`azp-fleet\` below it; default \`~/.config\` |
| \`XDG_CACHE_HOME\` | files for hosts and compiled code are in \`azp-fleet\` below it, if only you can write there; default \`~/.cache\` |
| \`NO_COLOR\`, \`TERM\` | no colors; \`TERM=dumb\`: no live progress either |
| \`USER\`, \`LOGNAME\` | your name, where this machine has no user of your uid |
| \`SSH_AUTH_SOCK\` | the SSH agent that holds the keys |
| \`NODE_EXTRA_CA_CERTS\` | a file of certificates that Node trusts in addition to its own; with \`ca:\` npm gets both |
| \`DOCKER_CONFIG\`, \`HOME\` | where \`bundle\` finds the logins of \`docker login\`; default \`~/.docker\` |
| \`SHELL\` | runs what \`Match exec\` of ssh_config names |
| \`AZP_FLEET_PRACTICE_CLOCK\` | for practice only ([practice.md](practice.md)) |

The inventory (\`{ env: NAME }\`, \`\${NAME}\`) and ssh_config may name more variables. The manager reads
\`NOTIFY_SOCKET\`, \`WATCHDOG_USEC\`, \`CREDENTIALS_DIRECTORY\` and \`AZP_FLEET_UNIT\` from its unit; its commands on a host take
your name from \`SUDO_USER\`.

## JSON

With \`--json\` stdout has one document, also when the command fails, and no progress is drawn. Questions are on
stderr; \`--yes\` answers them. Every document begins with the same members:

| member | meaning |
| --- | --- |
| \`schema\` | 1; increases when a member changes its meaning or is removed |
| \`command\` | as typed, e.g. \`inventory show\`; absent if the arguments are invalid |
| \`version\` | of azp-fleet |
| \`at\` | the time of the document, ISO 8601 |
| \`exitCode\` | the exit code |
| \`problems\` | errors, of hosts and others: \`code\` ([errors.md](errors.md)), \`what\`, and where known \`host\`, \`step\`, \`expected\`, \`seen\`, \`next\`, \`details\` (several mistakes), \`line\` and \`column\` in the inventory |
| \`log\` | the debug log of this run, if it could be written |

Then the command's own members follow, listed below with each command; a failed command has none. The JSON Schema
of each command is in the package: \`schemas/status.schema.json\`, \`schemas/inventory-list.schema.json\`. A later release may add members.

\`\`\`sh
azp-fleet status --json | jq '.hosts[] | select(.verdict.state != "healthy") | .host'
azp-fleet exec --json -- uptime | jq -r '.problems[] | "\\(.host): \\(.what)"'
\`\`\`
`;
  return `${head}\n${commands.map(section).join('\n')}`;
}

/** Returns the commands of a group as a table. */
function listOf(title: string, commands: readonly CommandSpec[]): string {
  const rows = commands
    .filter((command) => groupOf(command) === title)
    .map(({ name, summary }) => `| [${name}](#${anchor(name)}) | ${summary} |`);
  return [`| ${title} | |`, '| --- | --- |', ...rows].join('\n');
}

/** Returns the commands that lack a shared option, as a sentence. */
function exceptions(commands: readonly CommandSpec[], options: readonly OptionSpec[]): string {
  const without = options.flatMap((option) => {
    const names = commands
      .filter((command) => !sharedBy(command).includes(option))
      .map(({ name }) => `\`${name}\``);
    return names.length === 0 ? [] : [`\`${longName(option)}\` (${names.join(', ')})`];
  });
  const ignoring = commands.filter(ignoresInventory).map(({ name }) => `\`${name}\``);
  return `\nNot available where they have no meaning: ${without.join(', ')}. ${ignoring.join(', ')} accept \`--inventory\` and ignore it.`;
}

/** Returns the anchor that GitHub gives a heading. */
function anchor(name: string): string {
  return name.replaceAll(' ', '-');
}

function longName({ flags }: OptionSpec): string {
  return /--[\w-]+/.exec(flags)?.[0] ?? flags;
}

function row({ flags, description, default: value }: OptionSpec): string {
  const more = value === undefined ? '' : ` (default ${value})`;
  return `| \`${flags.replaceAll('|', '\\|')}\` | ${description}${more} |`;
}

function section(command: CommandSpec): string {
  const usage = ['azp-fleet', command.name, command.positionals].filter(Boolean).join(' ');
  const options = (command.options ?? []).map(row);
  const places = argumentsOf(command).map(({ notation, about }) => `| \`${notation}\` | ${about} |`);
  const given = places.length === 0 ? [] : ['| argument | meaning |', '| --- | --- |', ...places, ''];
  const table = options.length === 0 ? [] : ['| option | meaning |', '| --- | --- |', ...options, ''];
  const members =
    command.json === false ? [] : [`JSON: ${command.json.map((name) => `\`${name}\``).join(', ')}`, ''];
  const examples = command.examples.map(([line, what]) => `# ${what}\n${line}`);
  return [
    `## ${command.name}`,
    '',
    `\`${usage}\``,
    '',
    `${command.summary[0]?.toUpperCase() ?? ''}${command.summary.slice(1)}.`,
    ...(command.description === undefined ? [] : ['', command.description]),
    '',
    ...given,
    ...table,
    ...members,
    '```sh',
    ...examples,
    '```',
    '',
  ].join('\n');
}
