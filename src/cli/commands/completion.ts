import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import type { CommandInput } from '../command.ts';
import { namesIn, offersFor } from '../completion.ts';
import type { Result } from '../result.ts';

/** Prints a shell's completion script, or the completions for the words after `--`, which that script requests. */
export function run(context: Context, input: CommandInput): Promise<Result> {
  const shell = shells.find((known) => known === input.positionals[0]);
  if (shell === undefined)
    throw usageError({
      code: 'usage.shell',
      what: 'no completion for this shell',
      expected: shells.join(', '),
      seen: input.positionals[0] ?? 'nothing',
      next: 'use one of these: azp-fleet completion bash',
    });
  const script = completionScript(shell);
  if (input.rest.length === 0)
    return Promise.resolve({
      exitCode: ExitCode.ok,
      json: { shell, script, paths: 'none', offers: [] },
      text: () => script,
    });
  const { offers, paths } = offersFor(input.rest, input.commands, (inventory) =>
    namesIn(inventory ?? input.inventory, context),
  );
  const lines = [paths, ...offers.map(({ value, about }) => `${value}\t${about}`)];
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { shell, script, paths, offers },
    text: () => `${lines.join('\n')}\n`,
  });
}

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * Returns the script that a shell loads. At each Tab it calls `azp-fleet completion SHELL -- WORDS`. The first line of
 * the output is the kind of files to offer (none, files, inventories); each other line is a word, a tab, its description.
 */
export function completionScript(shell: Shell): string {
  return scripts[shell];
}

const bash = `_azp_fleet() {
  local line="\${COMP_LINE:0:COMP_POINT}" current='' piece="\${COMP_WORDS[COMP_CWORD]}" paths='' value
  local -a words
  COMPREPLY=()
  # Split at spaces: bash itself also breaks words at = and :.
  read -ra words <<<"$line"
  case "$line" in
    *[[:space:]]) words+=('') ;;
    *) current="\${words[\${#words[@]} - 1]}" ;;
  esac
  # bash replaces only the last piece of the word, so the completion must not repeat the pieces before it.
  local kept="\${current##*[=:]}"
  local begun="\${current%"$kept"}"
  [ "$piece" = "$current" ] && begun=''
  while IFS=$'\\t' read -r value _; do
    if [ -z "$paths" ]; then paths="$value"; else COMPREPLY+=("\${value#"$begun"}"); fi
  done < <(azp-fleet completion bash -- "\${words[@]:1}" 2>/dev/null)
  current="\${current#"$begun"}"
  case "$paths" in
    files) while IFS= read -r value; do COMPREPLY+=("$value"); done < <(compgen -f -- "$current") ;;
    inventories)
      while IFS= read -r value; do
        case "$value" in *.yaml|*.yml) COMPREPLY+=("$value") ;; *) [ -d "$value" ] && COMPREPLY+=("$value") ;; esac
      done < <(compgen -f -- "$current") ;;
  esac
  # Names are not files: a host with the name of a folder gets no slash.
  if [ "$paths" != none ]; then compopt -o filenames 2>/dev/null; fi
}
complete -F _azp_fleet azp-fleet
`;

const zsh = `#compdef azp-fleet
(( $+functions[compdef] )) || { autoload -U +X compinit && compinit -u }
_azp_fleet() {
  local paths line
  local -a lines offers
  lines=("\${(@f)$(azp-fleet completion zsh -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  paths="$lines[1]"
  for line in "\${(@)lines[2,-1]}"; do
    offers+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  (( $#offers )) && _describe -V 'azp-fleet' offers
  case "$paths" in
    files) _files ;;
    inventories) _files -g '*.(yaml|yml)' ;;
  esac
}
compdef _azp_fleet azp-fleet
`;

const fish = `function __azp_fleet_offers
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l lines (azp-fleet completion fish -- $words[2..] "$current" 2>/dev/null)
    printf '%s\\n' $lines[2..]
    switch "$lines[1]"
        case files
            __fish_complete_path "$current"
        case inventories
            __fish_complete_path "$current" | string match -r '^.*(?:/|\\.ya?ml)(?:\\t.*)?$'
    end
end
complete -c azp-fleet -f -a '(__azp_fleet_offers)'
`;

const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish };
