/**
 * Shell functions of what fetches packages. They need the prelude and `troubles`. `aloud COMMAND…` runs it, shows what it says, and
 * leaves that in `$words` and its exit code in `$code`. `unfetched`: dnf's words in, `ADDRESS cannot be read: REASON` out for the
 * first package that could not be had; where dnf does not say the address (a server that answers with something else), the file.
 * `fetched PAUSE`, after `aloud`: false where some package could not be had, PAUSE seconds later; where PAUSE is 0, that ends the
 * script, in one line with the address. What kept dnf from doing it is in `$trouble`.
 * `bring PACKAGE…` brings what may take nothing away; `more_packages PACKAGE` one that brings a repository.
 */
export const bringFunctions = `aloud() {
  notes=$(mktemp -d)
  { if "$@" 2>&1; then echo 0 >"$notes/code"; else echo "$?" >"$notes/code"; fi; } | tee "$notes/words"
  words=$(cat "$notes/words")
  code=$(cat "$notes/code")
  rm -rf "$notes"
}
unfetched() {
  awk '
    { sub(/ +$/, "") }
    follows { said = $0; follows = 0 }
    /^(> )*Error: Error downloading packages:/ { follows = 1 }
    /^\\[(MIRROR|FAILED)\\] [^ ]+\\.rpm: / {
      if (!($2 in why)) why[$2] = $0
      if ($1 == "[FAILED]" && failed == "") failed = $2
    }
    END { print (failed == "" ? said : why[failed]) }' |
    sed -En '
      s/^\\[[A-Z]+\\] [^ ]+: (.*) for ([a-z]+:\\/\\/[^ ]+).*/\\2 cannot be read: \\1/; t said
      s/^\\[[A-Z]+\\] ([^ ]+): (.+)/\\1 cannot be read: \\2/; t said
      s/^ +(Cannot download )?([^ ]+): (.+)/\\2 cannot be read: \\3/; t said
      b
      : said
      p'
}
fetched() {
  trouble=$(printf '%s\\n' "$words" | troubles)
  if [ "$code" -eq 0 ] && [ -z "$trouble" ]; then return 0; fi
  line=$(printf '%s\\n' "$words" | unfetched)
  [ -n "$line" ] || return 0
  if [ "$1" -gt 0 ]; then
    echo "not all packages could be fetched, trying again in $1 s"
    sleep "$1"
    return 1
  fi
  address=\${line%% *}
  case $address in
    *://*) ;;
    *)
      file=\${address##*/}
      address=$(dnf_run -q repoquery --location "\${file%.rpm}" 2>/dev/null | head -n 1)
      address=\${address:-$file} ;;
  esac
  fail "$address cannot be read" 'an answer, at the second try at the latest' "\${line#* cannot be read: }" \\
    'check the network, the proxy and the mirrors in the inventory, and run again'
}
bring() {
  for pause in 10 0; do
    wait_for_lock
    aloud dnf_run -y install "$@"
    if fetched "$pause"; then break; fi
  done
  [ "$code" -eq 0 ] || fail 'dnf could not bring what has to be there first' "$*" \\
    "\${trouble:-$(printf '%s\\n' "$words" | tail -n 1)}" 'look at the end of /var/log/dnf.log on the host'
}
more_packages() {
  bring "$1"
  update ''
}`;

/** `perform` does what `guard` has looked at: what went wrong, it says at the end, because dnf's shell ends well whatever happened. */
export const performFunction = `ask_for() {
  request "$@" | dnf_run -y --allowerasing shell
}
perform() {
  for pause in 10 0; do
    wait_for_lock
    # Whoever held it may have changed what would go.
    if [ "$waited" -gt 0 ]; then guard "$@"; fi
    aloud ask_for "$@"
    if fetched "$pause"; then break; fi
  done
  [ -z "$trouble" ] || fail 'dnf could not do it' "$*" "$trouble" 'look at the end of /var/log/dnf.log on the host'
}`;
