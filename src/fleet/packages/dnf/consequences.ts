/**
 * Shell functions. `effects`: what dnf says that a transaction would do in, a line a package out:
 * `install NAME VERSION`, `upgrade NAME VERSION`, `downgrade NAME VERSION`, `remove NAME VERSION`. dnf breaks the lines of
 * its table where a name is long. A package of another architecture than the machine's carries it: `libcuda:i686`.
 * `troubles`: the same text in, what keeps it from being done out: lists that it goes on without do not. `unfetched`: the same in,
 * `ADDRESS cannot be read: REASON` out for the first package that could not be had; where dnf does not say the address (a server
 * that answers with something else), the file. `room`: the same in, `room DOWNLOAD INSTALLED` out.
 */
export const consequenceFilters = `effects() {
  awk -v machine="$(uname -m)" '
    function name(word, arch) { return (arch == machine || arch == "noarch") ? word : word ":" arch }
    function flush() {
      if (verb != "" && count >= 3) print verb, name(field[1], field[2]), field[3]
      count = 0
    }
    function collect(   at) { for (at = 1; at <= NF; at++) field[++count] = $at }
    /^(Installing|Upgrading|Downgrading|Removing|Reinstalling)[a-z ]*:/ {
      flush()
      verb = tolower($1)
      sub(/:$/, "", verb)
      sub(/^installing$/, "install", verb)
      sub(/^upgrading$/, "upgrade", verb)
      sub(/^downgrading$/, "downgrade", verb)
      sub(/^removing$/, "remove", verb)
      sub(/^reinstalling$/, "", verb)
      next
    }
    /^[^ ]/ { flush(); verb = ""; next }
    $1 == "replacing" {
      flush()
      arch = $2
      sub(/.*\\./, "", arch)
      sub(/\\.[^.]*$/, "", $2)
      print "remove", name($2, arch), $3
      next
    }
    /^ [^ ]/ { flush(); collect(); next }
    /^  / { collect() }
    /^$/ { flush(); verb = "" }'
}
removals() {
  effects | awk '$1 == "remove" { print $2 }'
}
downgrades() {
  effects | awk '$1 == "downgrade" { print $2 }'
}
troubles() {
  sed -En '
    /^(> )*Errors during downloading metadata/,/^(> )*Error: Failed to download metadata/d
    s/^(> )*Error: Operation aborted\\.?$//
    s/^(> )*Error: *([^ ].*)/\\2/p
    s/^ Problem[ 0-9]*: (.*)/\\1/p
    s/^  - (.*)/\\1/p' | head -n 6 | tr -s ' \\n' ' ' | cut -c 1-400
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
room() {
  awk '
    function bytes(number, unit) { return number * (unit == "k" ? 1024 : unit == "M" ? 1048576 : unit == "G" ? 1073741824 : 1) }
    /^(Total download size|Total size): / { download = bytes($(NF - (NF > 0 && $NF ~ /^[kMG]$/)), $NF); known = 1 }
    /^Installed size: / { installed = bytes($(NF - ($NF ~ /^[kMG]$/)), $NF) }
    /^Freed space: / { installed = -bytes($(NF - ($NF ~ /^[kMG]$/)), $NF); known = 1 }
    END { if (known) printf "room %.0f %.0f\\n", download, installed }'
}`;
