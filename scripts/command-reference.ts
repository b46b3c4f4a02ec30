import { argumentsOf } from '../src/cli/arguments.ts';
import type { CommandSpec, OptionSpec } from '../src/cli/command.ts';
import { sharedBy, sharedOptions } from '../src/cli/shared-options.ts';

/** docs/commands.md: every command with its options and examples, from the same table that `--help` uses. */
export function commandReference(commands: readonly CommandSpec[]): string {
  const head = `# Commands

Written by \`npm run docs\` from the tables in \`src/cli/commands\`; a test holds the two together.

## Options of all commands

They are taken before a command's words, between them and after them: \`azp-fleet --json status\` is
\`azp-fleet status --json\`. Given twice, the later one counts; repeatable ones gather. A positional that
ends in \`.yaml\` or \`.yml\` is the inventory. What stands after \`--\` is left alone.

| option | meaning |
| --- | --- |
${sharedOptions.map(row).join('\n')}
${exceptions(commands, sharedOptions)}

## Environment

| variable | meaning |
| --- | --- |
| \`AZP_FLEET_INVENTORY\` | the inventory where none is named |
| \`XDG_STATE_HOME\` | debug logs and the last run of each inventory are in \`azp-fleet\` below it; default \`~/.local/state\` |
| \`XDG_CONFIG_HOME\` | a token that is pasted into \`setup\` is kept in \`azp-fleet\` below it; default \`~/.config\` |
| \`XDG_CACHE_HOME\` | files for hosts are in \`azp-fleet\` below it; default \`~/.cache\` |
| \`NO_COLOR\`, \`TERM\` | no colours; \`TERM=dumb\`: no live picture either |
| \`SSH_AUTH_SOCK\` | the SSH agent that holds the keys |
| \`NODE_EXTRA_CA_CERTS\` | a file of certificates that Node trusts beside its own; with \`ca:\` npm gets both |
| \`DOCKER_CONFIG\`, \`HOME\` | where \`bundle\` finds the logins of \`docker login\`; default \`~/.docker\` |
| \`SHELL\` | runs what \`Match exec\` of ssh_config names |
| \`AZP_FLEET_PRACTICE_CLOCK\` | for practice only ([practice.md](practice.md)) |

The inventory names variables of its own (\`{ env: NAME }\`, \`\${NAME}\`), and so may ssh_config. The manager takes from
its unit \`NOTIFY_SOCKET\`, \`WATCHDOG_USEC\`, \`CREDENTIALS_DIRECTORY\` and \`AZP_FLEET_UNIT\`; asked by hand, it names you by
\`SUDO_USER\`.

## JSON

With \`--json\` stdout holds one document, also where the command fails. No progress is drawn; where a command
asks, it does so on stderr, and \`--yes\` is the answer. The first members are the same for all commands:

| member | meaning |
| --- | --- |
| \`schema\` | 1; another number when a member changes its meaning or goes |
| \`command\` | as typed, e.g. \`inventory show\`; absent where the arguments were not understood |
| \`version\` | of azp-fleet |
| \`at\` | when the document was written, ISO 8601 |
| \`exitCode\` | that of the program |
| \`problems\` | what went wrong, on hosts and beside them: \`code\` ([errors.md](errors.md)), \`what\`, and where known \`host\`, \`step\`, \`expected\`, \`seen\`, \`next\`, \`details\` |
| \`log\` | the debug log of this run, where one could be written |

Then come the command's own, named below with each. Where it failed as a whole there are none.

\`\`\`sh
azp-fleet status --json | jq '.hosts[] | select(.verdict.state != "healthy") | .host'
azp-fleet exec --json -- uptime | jq -r '.problems[] | "\\(.host): \\(.what)"'
\`\`\`
`;
  return `${head}\n${commands.map(section).join('\n')}`;
}

/** Who takes which shared option not. */
function exceptions(commands: readonly CommandSpec[], options: readonly OptionSpec[]): string {
  const without = options.flatMap((option) => {
    const names = commands
      .filter((command) => !sharedBy(command).includes(option))
      .map(({ name }) => `\`${name}\``);
    return names.length === 0 ? [] : [`\`${longName(option)}\` (${names.join(', ')})`];
  });
  return `\nNot taken where it would mean nothing: ${without.join(', ')}.`;
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
