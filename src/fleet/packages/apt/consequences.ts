import { unforeseenNames } from '../shell.ts';

/**
 * Shell functions, all filters. `removals`: the output of `apt-get -s` in, the names that would be removed or purged
 * out, one a line; a name of another architecture carries it: `libcuda1:i386`. `downgrades`: the same of those that
 * would get an older version.
 */
export const consequenceFilters = `removals() {
  awk '$1 == "Remv" || $1 == "Purg" { print $2 }'
}
downgrades() {
  awk '/^[^ ]/ { lower = $0 ~ /^The following packages will be DOWNGRADED:/; next }
    lower { for (field = 1; field <= NF; field++) print $field }'
}
${unforeseenNames}`;
