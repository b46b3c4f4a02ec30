interface Flag {
  readonly flags: string;
  readonly description: string;
}

/** What completion needs to know of a command. */
export interface Completable {
  readonly name: string;
  readonly summary: string;
  /** Its own and those it shares with others. */
  readonly options: readonly Flag[];
}

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** A static completion script: commands, their options, and inventory files. `shared`: what may stand before a command. */
export function completionScript(
  shell: Shell,
  commands: readonly Completable[],
  shared: readonly Flag[],
): string {
  if (shell === 'fish') return fish(commands, shared);
  const cases = commands.map(
    (command) => `    '${command.name}') words='${longOptions(command.options).join(' ')}';;`,
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
  local current="\${COMP_WORDS[COMP_CWORD]}" one='' two='' words='' word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case "$word" in
      ${takingValues(shared).join('|')}) i=$((i + 1));;
      -*) ;;
      *) if [ -z "$one" ]; then one="$word"; elif [ -z "$two" ]; then two="$word"; fi;;
    esac
  done
  if [ -z "$one" ]; then
    case "$current" in
      -*) words='${longOptions(shared).join(' ')}';;
      *) words='${firstWords} help';;
    esac
  elif [ -z "$two" ] && [ "\${current#-}" = "$current" ]; then
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

function fish(commands: readonly Completable[], shared: readonly Flag[]): string {
  const lines = [
    `function __azp_fleet_no_command
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case ${takingValues(shared).join(' ')}
                set skip 1
            case '-*'
            case '*'
                return 1
        end
    end
    return 0
end`,
    'complete -c azp-fleet -f',
  ];
  const plain = (text: string) => text.replaceAll("'", '');
  const before = (rest: string) => `complete -c azp-fleet -n __azp_fleet_no_command ${rest}`;
  for (const option of shared)
    for (const name of longOptions([option]))
      lines.push(before(`-l ${name.slice(2)} -d '${plain(option.description)}'`));
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ');
    if (second === undefined) lines.push(before(`-a ${first} -d '${plain(command.summary)}'`));
    else {
      lines.push(before(`-a ${first} -d '${first} commands'`));
      lines.push(
        `complete -c azp-fleet -n '__fish_seen_subcommand_from ${first}' -a ${second} -d '${plain(command.summary)}'`,
      );
    }
    for (const option of longOptions(command.options))
      lines.push(
        `complete -c azp-fleet -n '__fish_seen_subcommand_from ${second ?? first}' -l ${option.slice(2)}`,
      );
  }
  lines.push(`complete -c azp-fleet -n 'not __azp_fleet_no_command' -a '(__fish_complete_suffix .yaml)'`);
  return `${[...new Set(lines)].join('\n')}\n`;
}

function leaf(command: Completable): string {
  return command.name.split(' ').at(-1) ?? '';
}

function longOptions(options: readonly Flag[]): string[] {
  return [...options.flatMap(({ flags }) => /--[\w-]+/.exec(flags) ?? []), '--help'];
}

/** The names, short ones too, of those that another word follows. */
function takingValues(options: readonly Flag[]): string[] {
  return options.flatMap(({ flags }) => (flags.includes('<') ? (flags.match(/-[\w-]+/g) ?? []) : []));
}
