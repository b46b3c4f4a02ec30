/**
 * Shell functions of a simulation. They need the prelude, and stand in for those of it that would end the script, change
 * the host, or wait: `fail`, `choose`, `update`, `bring`, `pin`, `source_added`.
 *
 * `read_lists` updates apt's own lists, all of them. `listen VENDOR URI FILE` says whether that source has answered.
 * `begin KEY` and `finish CODE` stand around one transaction; between them `unheld NAME…` makes dpkg's status as it is
 * without these holds, `lift_pins NAME…` takes away the pins of packages that go, and `ask WORD…` has the answer of
 * `apt-get WORD…` with the room that it takes (`--print-uris` changes nothing, and sums up what it would), and names what holds of the host's owner keep it from changing. What else is brought along is in `$brought`.
 */
export const simulationFunctions = `said() {
  sed -En 's/^(E|Error|W|Warning): //p' "$@" | head -n 1 | tr -s ' ' | cut -c 1-300
}
fail() {
  printf 'what %s (expected %s; seen: %s)\\nnext %s\\n' "$1" "$2" "$(printf '%s' "$3" | tr '\\n' ' ' | cut -c 1-300)" "$4" >&3
  exit 0
}
of_any_branch() {
  for pattern in "$@"; do
    for name in $(apt-cache pkgnames "\${pattern%%[[]*}"); do
      # It is meant as a pattern.
      # shellcheck disable=SC2254
      case $name in $pattern) offered "$name" ;; esac
    done
  done
}
choose() {
  version=$(newest "$1" "$2")
  if [ -z "$version" ]; then
    echo missing >&3
    variants | head -n 500 | sed 's/^/offer /' >&3
    exit 0
  fi
}
bring() {
  brought="$brought $*"
}
source_added() {
  echo "source $1$2" >&3
}
pin() {
  bring "$@"
  # Names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2046
  lift_pins $(left "\${1%-*}-*")
  for name in "$@"; do
    (cd pins && apt-get -q download "$name")
    dpkg-deb --fsys-tarfile pins/"$name"_*.deb |
      tar -xf - -C preferences.d --strip-components=4 ./etc/apt/preferences.d
  done
}
update() {
  timeout -k 5 60 apt-get -q update -o Dir::Etc::SourceList="$1" -o Dir::Etc::SourceParts=- \\
    -o APT::Get::List-Cleanup=0 </dev/null || :
}
read_lists() {
  timeout -k 5 90 apt-get -q update -o APT::Update::Error-Mode=any </dev/null >update.words 2>&1 ||
    echo "partial $(said update.words)" >&3
  cat update.words
}
listen() {
  if [ ! -e "$sources/\${3##*/}" ]; then
    echo "silent $1 $(said "$1.words")" >&3
  elif ! grep -F " $2 " update.words | grep -Eq '^(Get|Hit):' || grep -F " $2 " update.words | grep -q '^Err:'; then
    echo "silent $1 $(grep -F "$2" update.words | said)" >&3
  elif ! listed "$sources/\${3##*/}"; then
    echo "silent $1 there is no list of packages at $2" >&3
  fi
}
listed() {
  # The words in $() are apt's own placeholders.
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages' | grep -qF "$1:"
}
begin() {
  brought=
  echo "begin $1" >&3
}
finish() {
  if [ "$1" -ne 0 ]; then echo "broken $1" >&3; fi
  echo end >&3
}
unheld() {
  awk -v names=" $* " '
    /^Package: / { ours = index(names, " " $2 " ") > 0 }
    ours && /^Status: hold / { sub(/hold/, "install") }
    { print }' /var/lib/dpkg/status >status
}
lift_pins() {
  for name in "$@"; do
    dpkg-query -L "$name" 2>/dev/null | sed -n 's|^/etc/apt/preferences.d/||p' | while read -r file; do
      rm -f "preferences.d/$file"
    done
  done
}
ask() {
  if apt_get -s "$@" >answer 2>words; then
    consequences <answer >&3
    held_back "$@" | sed 's/^/kept /' >&3
    apt_get --print-uris "$@" 2>/dev/null | room >&3
  elif held=$(held_back "$@" | tr '\\n' ' ') && [ -n "$held" ]; then
    echo "held $held" >&3
  else
    cat answer words
    unmet=$(unmet answer words)
    echo "words $unmet" >&3
    case $unmet in *dkms*) echo "dkms $(offered dkms | head -n 1)" >&3 ;; esac
  fi
}
unmet() {
  sed -En 's/^ ([^ ].* : .*)/\\1/p; s/^(E|Error): //p' "$@" | head -n 4 | tr -s ' \\n' ' ' | cut -c 1-400
}
held_back() {
  apt-mark showhold >held
  if [ -s held ] && apt_get -s --ignore-hold --allow-change-held-packages "$@" >freed 2>/dev/null; then
    awk '$1 == "Inst" || $1 == "Remv" { print $2 }' freed | grep -xF -f held || :
  fi
}
room() {
  awk '
    BEGIN { unit["B"] = 1; unit["kB"] = 1e3; unit["MB"] = 1e6; unit["GB"] = 1e9; unit["TB"] = 1e12 }
    /^\\047/ { download += $3 }
    /^After this operation, .* disk space/ {
      gsub(/,/, "")
      installed = $4 * unit[$5] * (/ freed/ ? -1 : 1)
      known = 1
    }
    END { if (known) printf "room %.0f %.0f\\n", download, installed }'
}
consequences() {
  awk '
    function bare(word) { gsub(/[][()]/, "", word); return word }
    /^[^ ]/ { lower = /^The following packages will be DOWNGRADED:/ }
    /^ / && lower { for (field = 1; field <= NF; field++) older[$field] = 1 }
    $1 == "Remv" || $1 == "Purg" { print "remove", $2, bare($3) }
    $1 == "Inst" && $3 ~ /^\\(/ { print "install", $2, bare($3) }
    $1 == "Inst" && $3 ~ /^\\[/ && bare($3) != bare($4) {
      print ($2 in older) ? "downgrade" : "upgrade", $2, bare($3), bare($4)
    }'
}`;
