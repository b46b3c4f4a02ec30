import type { CommandSpec } from '../src/cli/command.ts';

/** docs/commands.md: every command with its options and examples, from the same table that `--help` uses. */
export function commandReference(commands: readonly CommandSpec[]): string {
  const head = `# Commands

Written by \`npm run docs\` from the tables in \`src/cli/commands\`; a test holds the two together.

Every command takes \`--json\`, \`--yes\`, \`--debug\`, \`--no-color\` and \`--help\`. Commands that read an
inventory also take \`-i, --inventory FILE\` and \`--limit PATTERN\` (host, group, \`label=value\`, glob,
\`!exclusion\`; repeatable). A positional that ends in \`.yaml\` or \`.yml\` is the inventory.
`;
  return `${head}\n${commands.map(section).join('\n')}`;
}

function section(command: CommandSpec): string {
  const usage = ['azp-fleet', command.name, command.positionals].filter(Boolean).join(' ');
  const options = (command.options ?? []).map(
    (option) =>
      `| \`${option.flags.replaceAll('|', '\\|')}\` | ${option.description}${option.default === undefined ? '' : ` (default ${option.default})`} |`,
  );
  const table = options.length === 0 ? [] : ['| option | meaning |', '| --- | --- |', ...options, ''];
  const examples = command.examples.map(([line, what]) => `# ${what}\n${line}`);
  return [
    `## ${command.name}`,
    '',
    `\`${usage}\``,
    '',
    `${command.summary[0]?.toUpperCase() ?? ''}${command.summary.slice(1)}.`,
    ...(command.description === undefined ? [] : ['', command.description]),
    '',
    ...table,
    '```sh',
    ...examples,
    '```',
    '',
  ].join('\n');
}
