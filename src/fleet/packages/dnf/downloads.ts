/**
 * Shell functions of what fetches packages. They need the prelude, `troubles`, `unfetched`, `bring_key` and `put_source`. `aloud COMMAND…` runs it,
 * shows what it says, and leaves that in `$words` and its exit code in `$code`.
 * `fetched PAUSE`, after `aloud`: false where some package could not be had, PAUSE seconds later; where PAUSE is 0, that ends the
 * script, in one line with the address. What kept dnf from doing it is in `$trouble`.
 * `bring PACKAGE…` brings what may take nothing away; `more_packages PACKAGE` one that brings a repository, and
 * `switch_on ID` reads a repository that the host has and does not read; `more_source ID FILE TEXT KEY-ADDRESS KEY-FILE SHA256` one without a package; what of its lists cannot be read is in
 * `$line`. `refuse` is `fail`, and a plan refuses then even where other lists could not be read.
 */
export const bringFunctions = `aloud() {
  notes=$(mktemp -d)
  { if "$@" 2>&1; then echo 0 >"$notes/code"; else echo "$?" >"$notes/code"; fi; } | tee "$notes/words"
  words=$(cat "$notes/words")
  code=$(cat "$notes/code")
  rm -rf "$notes"
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
  line=
  update ''
}
refuse() {
  fail "$@"
}
switch_on() {
  case $1 in
    codeready-builder-for-rhel-*) subscription-manager repos --enable="$1" ;;
    *)
      dnf config-manager --help >/dev/null 2>&1 || bring 'dnf-command(config-manager)'
      dnf config-manager --set-enabled "$1" ;;
  esac
  update ''
}
more_source() {
  bring_key "$4" "$5" "$1" "$6"
  put_source "$2" "$3"
  update "$2"
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
