/**
 * Shell functions, both filters. `removals`: the output of `apt-get -s` in, the names that would be removed or purged
 * out, one a line; a name of another architecture carries it: `libcuda1:i386`.
 * `unforeseen PATTERN…`: names in, those out that no shell pattern matches, whatever their architecture.
 */
export const removalFilters = `removals() {
  awk '$1 == "Remv" || $1 == "Purg" { print $2 }'
}
unforeseen() {
  while read -r name; do
    for pattern in "$@"; do
      # It is meant as a pattern.
      # shellcheck disable=SC2254
      case \${name%%:*} in $pattern) continue 2 ;; esac
    done
    printf '%s\\n' "$name"
  done
}`;
