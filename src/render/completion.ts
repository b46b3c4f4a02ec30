/** What completion needs to know of a command. */
export interface Completable {
  readonly name: string;
  readonly summary: string;
  readonly options?: readonly { readonly flags: string; readonly description: string }[];
}

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

const everywhere = ['--inventory', '--limit', '--json', '--yes', '--debug', '--no-color', '--help'];

/** A static completion script: commands, their options, and inventory files. */
export function completionScript(shell: Shell, commands: readonly Completable[]): string {
  if (shell === 'fish') return fish(commands);
  const cases = commands.map(
    (command) => `    '${command.name}') words='${longOptions(command).join(' ')}';;`,
  );
  const firstWords = [...new Set(commands.map((command) => command.name.split(' ')[0]))].join(' ');
  const groups = Map.groupBy(
    commands.filter((command) => command.name.includes(' ')),
    (command) => command.name.split(' ')[0] ?? '',
  );
  const second = [...groups].map(
    ([group, members]) => `    ${group}) words='${members.map(leaf).join(' ')}';;`,
  );
  const body = `_azp_fleet() {
  local current="\${COMP_WORDS[COMP_CWORD]}" one="\${COMP_WORDS[1]}" two="\${COMP_WORDS[2]}" words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words='${firstWords} help'
  elif [ "$COMP_CWORD" -eq 2 ] && [ "\${current#-}" = "$current" ]; then
    case "$one" in
${second.join('\n')}
    esac
  fi
  if [ -z "$words" ]; then
    case "$one $two" in
${cases.filter((line) => line.slice(5, line.indexOf(')')).includes(' ')).join('\n')}
    esac
    [ -n "$words" ] || case "$one" in
${cases.filter((line) => !line.slice(5, line.indexOf(')')).includes(' ')).join('\n')}
    esac
  fi
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
  case "$current" in
    -*) ;;
    *) while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -X '!*.y*ml' -- "$current") ;;
  esac
}
complete -o filenames -F _azp_fleet azp-fleet
`;
  return shell === 'bash'
    ? body
    : `autoload -U +X compinit && compinit -u\nautoload -U +X bashcompinit && bashcompinit\n${body}`;
}

function fish(commands: readonly Completable[]): string {
  const lines = ['complete -c azp-fleet -f'];
  const plain = (text: string) => text.replaceAll("'", '');
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    if (second === undefined)
      lines.push(`complete -c azp-fleet -n __fish_use_subcommand -a ${first} -d '${plain(command.summary)}'`);
    else {
      lines.push(`complete -c azp-fleet -n __fish_use_subcommand -a ${first} -d '${first} commands'`);
      lines.push(
        `complete -c azp-fleet -n '__fish_seen_subcommand_from ${first}' -a ${second} -d '${plain(command.summary)}'`,
      );
    }
    for (const option of longOptions(command))
      lines.push(
        `complete -c azp-fleet -n '__fish_seen_subcommand_from ${second ?? first}' -l ${option.slice(2)}`,
      );
  }
  lines.push(`complete -c azp-fleet -n 'not __fish_use_subcommand' -a '(__fish_complete_suffix .yaml)'`);
  return `${[...new Set(lines)].join('\n')}\n`;
}

function leaf(command: Completable): string {
  return command.name.split(' ').at(-1) ?? '';
}

function longOptions(command: Completable): string[] {
  const own = (command.options ?? []).flatMap((option) => /--[\w-]+/.exec(option.flags) ?? []);
  return [...own, ...everywhere];
}
