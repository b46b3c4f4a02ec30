import { failFunction } from '../../../shared/base/shell.ts';
import type { Proxy } from '../../inventory/fleet.ts';
import { awaitFirstBoot, lockHolder, newestOffered, proxyExports, waitForLock } from '../shell.ts';

/** The versionlock plugin's list, one package a line: `docker-ce-3:29.7.2-1.el9.*`. */
export const lockList = '/etc/dnf/plugins/versionlock.list';

/** rpm uses a kernel lock; dnf writes the holder's process id (dnf/lock.py of dnf 4). */
export const dnfLocks: readonly string[] = [
  '/var/lib/rpm/.rpm.lock',
  '/usr/lib/sysimage/rpm/.rpm.lock',
  '/var/lib/dnf/rpmdb_lock.pid',
  '/var/cache/dnf/metadata_lock.pid',
  '/var/cache/dnf/download_lock.pid',
];

/**
 * Shell functions that every script for a dnf host starts with.
 * dnf asks no question and installs no weak dependency; a request is done exactly, or fails (`best`).
 * Removals and installations of one transaction use dnf's shell, whose exit code is always 0: the scripts read its output.
 * `update FILE` reads all lists, or, within half an hour of that, only those of the repository of FILE. A repository that fails three
 * times is one line: the one of FILE ends the script, others are skipped (`$without`) until all lists are read again.
 * The scripts write the lock list themselves, because the plugin's `delete` also deletes the owner's comments and `!` lines.
 */
export const dnfPrelude = `export LC_ALL=C.UTF-8
without=--setopt=skip_if_unavailable=0
${lockHolder(dnfLocks)}
${failFunction}
${waitForLock}
dnf_run() {
  dnf --setopt=install_weak_deps=0 --setopt=best=1 --setopt=clean_requirements_on_remove=0 "$without" "$@"
}
${awaitFirstBoot}
settle() {
  # A running transaction has duplicates too.
  wait_for_lock
  if ! rpm -qa >/dev/null 2>&1; then rpm --rebuilddb; fi
  if [ -n "$(dnf -q --disablerepo='*' repoquery --duplicates 2>/dev/null)" ]; then
    dnf_run --disablerepo='*' -y remove --duplicates ||
      echo 'continuing: dnf cannot remove the duplicates that an interrupted transaction left'
  fi
}
unread() {
  sed -En "s/^ +- ((Status code|Curl error).*) for ([^ ]+).*/\\\\3 cannot be read: \\\\1/p" | head -n 1
}
update() {
  await_first_boot
  settle
  own=\${1##*/}
  own=\${own%.repo}
  set -- "$1" "$(find /run/azp-fleet/package-lists -mmin -30 2>/dev/null)"
  if [ -n "$2" ] && [ -e "$1" ]; then set -- --repo="$own"; else set --; fi
  for pause in 3 10 0; do
    wait_for_lock
    if words=$(dnf_run --refresh makecache "$@" 2>&1); then break; fi
    line=$(printf '%s\\n' "$words" | unread)
    if [ "$pause" -gt 0 ]; then
      echo "not all package lists could be read, trying again in $pause s"
      sleep "$pause"
      continue
    fi
    case $words in
      *"repository '$own'"*)
        fail "\${line:-the package source $own cannot be read}" 'the lists of the package source' 'three failures' \\
          'check the network, the proxy and the mirrors in the inventory' ;;
    esac
    echo "continuing without a package source: \${line:-it cannot be read}"
    without='--setopt=*.skip_if_unavailable=1'
  done
  if [ "$#" -eq 0 ]; then
    install -D /dev/null /run/azp-fleet/package-lists
    case $without in *=1) printf without >/run/azp-fleet/package-lists ;; esac
  elif [ -s /run/azp-fleet/package-lists ]; then
    without='--setopt=*.skip_if_unavailable=1'
  fi
}
offered() {
  dnf_run -q repoquery --available --arch="$(uname -m),noarch" \\
    --qf '%{epoch}:%{version}-%{release}' "$1" 2>/dev/null | sort -urV
}
${newestOffered}
choose() {
  version=$(newest "$1" "$2")
  [ -n "$version" ] || fail "no package source offers $1 $2" "a version that begins with $2" \\
    "$(offered "$1" | head -n 5 | tr '\\n' ' ')" 'correct the version in the inventory, or complete the mirror'
  version=\${version#*:}
  version=\${version%-*}
}
installed() {
  rpm -q --qf '%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n' "$1" 2>/dev/null | sed -n '/^[0-9]*:/p' | tail -n 1
}
lock_list() {
  dnf -q --disablerepo='*' versionlock "$@"
}
locks_but() {
  awk -v names=" $* " '
    { name = $1; sub(/-[^-]*-[^-]*$/, "", name) }
    /^ *[^#!]/ && (index(names, " " name " ") > 0 || index(names, " " $1 " ") > 0) { next }
    { print }' ${lockList} 2>/dev/null || :
}
unlock() {
  [ -e ${lockList} ] || return 0
  locks_but "$@" >${lockList}.new
  if [ "$(cat ${lockList}.new)" = "$(cat ${lockList})" ]; then
    rm ${lockList}.new
  else
    keep_locks
  fi
}
keep_locks() {
  chmod 644 ${lockList}.new
  mv ${lockList}.new ${lockList}
}
hold() {
  present=
  for name in "$@"; do
    case "$present " in *" $name "*) continue ;; esac
    if [ -n "$(installed "$name")" ]; then present="$present $name"; fi
  done
  if [ -n "$present" ]; then
    {
      # Package names hold no blanks, and are meant to be split.
      # shellcheck disable=SC2086
      locks_but $present
      # shellcheck disable=SC2086
      rpm -q --qf '%{NAME}-%{EPOCHNUM}:%{VERSION}-%{RELEASE}.*\\n' $present 2>/dev/null
    } >${lockList}.new
    keep_locks
  fi
}
siblings() {
  common=$(installed "$1")
  common=\${common#*:}
  shift
  rpm -qa --qf '%{VERSION} %{NAME}\\n' "$@" | awk -v common="\${common%-*}" '$1 == common { print $2 }'
}
can_hold() {
  lock_list list >/dev/null 2>&1 || bring 'dnf-command(versionlock)'
}
request() {
  if [ "$#" -gt 0 ]; then echo "install $*"; fi
  if [ -n "$away" ]; then echo "remove $away"; fi
  echo run
}
confirm() {
  seen=$(installed "$1")
  [ -n "$seen" ] || fail "dnf has not installed $1" "a package $1" none \
    'check /etc/dnf/dnf.conf for an exclude, and the end of /var/log/dnf.log on the host'
  case \${seen#*:} in
    "$2"*) ;;
    *) fail "$1 has the wrong version after its installation" "$2" "$seen" \\
      'check /etc/dnf/dnf.conf for an exclude, and for a repository of a higher priority that prefers another version' ;;
  esac
}`;

/**
 * Shell functions that filter dnf's description of a transaction. `effects` prints one line a package: `install NAME VERSION`,
 * `upgrade NAME VERSION`, `downgrade NAME VERSION`, `remove NAME VERSION`. dnf wraps the lines of its table where a name is long. A
 * name has another architecture than the machine's: `libcuda:i686`. `troubles` prints what prevents the transaction; skipped lists do
 * not. `unfetched` prints `ADDRESS cannot be read: REASON` of the first package that failed to download, with the file where dnf
 * does not name the address. `disk_space` prints `space DOWNLOAD INSTALLED`.
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
disk_space() {
  awk '
    function bytes(number, unit) { return number * (unit == "k" ? 1024 : unit == "M" ? 1048576 : unit == "G" ? 1073741824 : 1) }
    /^(Total download size|Total size): / { download = bytes($(NF - (NF > 0 && $NF ~ /^[kMG]$/)), $NF); known = 1 }
    /^Installed size: / { installed = bytes($(NF - ($NF ~ /^[kMG]$/)), $NF) }
    /^Freed space: / { installed = -bytes($(NF - ($NF ~ /^[kMG]$/)), $NF); known = 1 }
    END { if (known) printf "space %.0f %.0f\\n", download, installed }'
}`;

/**
 * Shell functions that download packages. They need the prelude, `troubles`, `unfetched`, `bring_key` and `put_source`.
 * `aloud COMMAND…` runs a command, shows its output, and leaves that in `$words` and its exit code in `$code`.
 * `fetched PAUSE`, after `aloud`: waits PAUSE seconds and returns false where a download failed; with PAUSE 0 that ends the script, in
 * one line with the address. What prevented the transaction is in `$trouble`.
 * `bring PACKAGE…` installs without removing. `more_packages PACKAGE` installs a package that adds a repository, `switch_on ID` enables
 * a repository of the host, and `more_source ID FILE TEXT KEY-ADDRESS KEY-FILE SHA256` adds one without a package; `$line` has what
 * could not be read of its lists. `refuse` is `fail`; in a plan it refuses even where other lists could not be read.
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
  fail "$address cannot be read" 'an answer within two attempts' "\${line#* cannot be read: }" \\
    'check the network, the proxy and the mirrors in the inventory, and run again'
}
bring() {
  for pause in 10 0; do
    wait_for_lock
    aloud dnf_run -y install "$@"
    if fetched "$pause"; then break; fi
  done
  [ "$code" -eq 0 ] || fail 'dnf could not install prerequisites' "$*" \\
    "\${trouble:-$(printf '%s\\n' "$words" | tail -n 1)}" 'check the end of /var/log/dnf.log on the host'
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

/** Shell function `perform`: installs what `guard` checked. It reads failures from the output, because dnf's shell always exits with 0. */
export const performFunction = `ask_for() {
  request "$@" | dnf_run -y --allowerasing shell
}
perform() {
  for pause in 10 0; do
    wait_for_lock
    # The process that held the lock may have changed what would be removed.
    if [ "$waited" -gt 0 ]; then guard "$@"; fi
    aloud ask_for "$@"
    if fetched "$pause"; then break; fi
  done
  [ -z "$trouble" ] || fail 'dnf could not install the packages' "$*" "$trouble" 'check the end of /var/log/dnf.log on the host'
}`;

/** Shell function `download URL FILE [SHA256]`. rpm depends on curl, so it is installed. */
const download = `download() {
  words=$(curl -fsSL --retry 3 --connect-timeout 20 --speed-time 60 --speed-limit 1 -o "$2" "$1" 2>&1) ||
    fail "$1 cannot be downloaded" "the file\${3:+ with sha256 $3}" "$words" \\
      'check the network, the proxy and the mirrors in the inventory'
  seen=$(sha256sum <"$2" | cut -c 1-64)
  [ "$seen" = "\${3:-$seen}" ] || fail "$1 cannot be downloaded" "the file with sha256 $3" "sha256 $seen" \\
    'check the network, the proxy and the mirrors in the inventory'
}`;

export function downloader(proxy: Proxy): string {
  return [...proxyExports(proxy), failFunction, download].join('\n');
}
