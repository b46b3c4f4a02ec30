/**
 * Shell functions, all filters. `removals`: the output of `apt-get -s` in, the names that would be removed or purged
 * out, one a line; a name of another architecture carries it: `libcuda1:i386`. `downgrades`: the same of those that
 * would get an older version.
 * `unforeseen PATTERN…`: names in, those out that no shell pattern matches, whatever their architecture.
 */
export const consequenceFilters = `removals() {
  awk '$1 == "Remv" || $1 == "Purg" { print $2 }'
}
downgrades() {
  awk '/^[^ ]/ { lower = $0 ~ /^The following packages will be DOWNGRADED:/; next }
    lower { for (field = 1; field <= NF; field++) print $field }'
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
