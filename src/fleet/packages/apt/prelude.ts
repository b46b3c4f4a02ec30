import { failFunction } from '../../../shared/base/shell.ts';
import type { Proxy } from '../../inventory/fleet.ts';
import {
  awaitFirstBoot,
  lockHolder,
  newestOffered,
  proxyExports,
  unforeseenNames,
  waitForLock,
} from '../shell.ts';

export const aptLocks: readonly string[] = [
  '/var/lib/dpkg/lock-frontend',
  '/var/lib/dpkg/lock',
  '/var/lib/apt/lists/lock',
];

/**
 * Shell functions that every script for an apt host starts with.
 * `DPkg::Lock::Timeout` waits for dpkg's locks, but not for the lock of the package lists: `update` waits for that itself.
 * apt asks no question, restarts no service, and installs no recommended package. Phased updates of Ubuntu, which reach each host
 * at a different time, are always included, so that every host gets what the plan says.
 * `update FILE [optional]` reads all package lists, or, within half an hour of that, only those of the source FILE. It tries a
 * failed download again. A second failure is one line with the URL: for FILE, unless it is optional, it ends the script; for other
 * sources the script continues.
 * `apt WORD…` checks again what would be removed (`guard`) after it waited for a lock, and fetches a second time after a failure.
 * `repair` finishes an interrupted dpkg run, as far as dpkg can do that alone; `$torn` has NAME=VERSION of packages that dpkg was
 * unpacking when it was killed (`reinstreq`). `unpack_again` has apt unpack these: otherwise it calls one whose version does not
 * change the newest, ends with 0, and cannot configure what depends on it.
 * `incomplete` is asked once apt has refused a request, and is true at most once: an interrupted run left dependencies unmet, and
 * until they are restored apt refuses every request that does not name them. `$lacking` has NAME=VERSION of what restores them.
 * `know NAME…` has apt tell all offers of these packages at once; `offered` and `at` then read them without apt.
 * Versions are compared without their epoch.
 */
export const aptPrelude = `export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
export NEEDRESTART_SUSPEND=1 NEEDRESTART_MODE=l APT_LISTCHANGES_FRONTEND=none
sources=/etc/apt/sources.list.d
${lockHolder(aptLocks)}
${failFunction}
${waitForLock}
apt_get() {
  apt-get -q -y -o DPkg::Lock::Timeout=1800 -o Dpkg::Use-Pty=0 \\
    -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \\
    -o APT::Install-Recommends=false -o APT::Get::Always-Include-Phased-Updates=true "$@"
}
guard() { :; }
unread() {
  sed -En "s/^(E|Error|W|Warning): Failed to fetch ([^ ]+) +(.*)/\\2 cannot be read: \\3/p
    s/^(E|Error): The repository '([^ ']+)[^']*' (.*)/\\2 cannot be read: the repository \\3/p"
}
stop_at() {
  line=$(printf '%s\\n' "$1" | head -n 1)
  [ -z "$line" ] || fail "\${line%%: *}" 'an answer within two attempts' "\${line#*: }" \\
    'check the network, the proxy and the mirrors in the inventory, and run again'
}
apt() {
  wait_for_lock
  if [ "$waited" -gt 0 ]; then guard "$@"; fi
  failed=0
  apt_get "$@" || failed=$?
  if [ "$failed" -ne 0 ] && apt_get --print-uris "$@" 2>/dev/null | grep -q "^'"; then
    echo 'not all packages could be fetched, trying again in 10 s'
    sleep 10
    words=$(apt_get --download-only "$@" 2>&1) || stop_at "$(printf '%s\\n' "$words" | unread)"
    failed=0
    apt_get "$@" || failed=$?
  fi
  return "$failed"
}
${awaitFirstBoot}
torn=
repair() {
  if [ -n "$(dpkg --audit)" ] || [ -n "$(ls /var/lib/dpkg/updates)" ]; then
    wait_for_lock
    dpkg --configure -a --force-confdef --force-confold ||
      echo 'continuing: apt unpacks again what dpkg cannot configure'
    torn=$(dpkg-query -W -f='\${db:Status-Eflag} \${binary:Package}=\${Version}\\n' | sed -n 's/^reinstreq //p')
  fi
}
unpack_again() {
  [ -n "$torn" ] || return 0
  wait_for_lock
  # Package names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2086
  apt_get install --reinstall --no-remove --allow-downgrades --allow-change-held-packages $torn ||
    echo "continuing: apt cannot unpack again $torn"
}
update() {
  known=
  await_first_boot
  repair
  own=
  if [ -z "\${2:-}" ] && [ -r "$1" ]; then own=$(sed -n 's/^URIs: //p' "$1"); fi
  set -- "$1" "$(find /run/azp-fleet/package-lists -mmin -30 2>/dev/null)"
  if [ -n "$2" ] && [ -e "$1" ]; then
    set -- -o Dir::Etc::SourceList="$1" -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0
  else
    set --
  fi
  for pause in 10 0; do
    wait_for_lock
    if words=$(apt_get update -o APT::Update::Error-Mode=any "$@" 2>&1); then break; fi
    if [ "$pause" -gt 0 ]; then
      echo "not all package lists could be read, trying again in $pause s"
      sleep "$pause"
    else
      lines=$(printf '%s\\n' "$words" | unread)
      [ -z "$own" ] || stop_at "$(printf '%s\\n' "$lines" | grep -F "$own")"
      lines=$(printf '%s\\n' "$lines" | head -n 1)
      echo "continuing with the package lists that could be read: \${lines:-$words}"
    fi
  done
  if [ "$#" -eq 0 ]; then install -D /dev/null /run/azp-fleet/package-lists; fi
  unpack_again
}
tried=
incomplete() {
  [ -z "$tried" ] || return 1
  tried=yes
  lacking=$(apt_get -s --allow-downgrades --fix-broken install 2>/dev/null |
    sed -En 's/^Inst ([^ ]+) (\\[[^]]*\\] )?\\(([^ ]+) .*/\\1=\\3/p')
  [ -n "$lacking" ]
}
known=
know() {
  known=" $* "
  offers=$(apt-cache madison "$@")
}
offered() {
  case $known in
    *" $1 "*) printf '%s\\n' "$offers" | awk -v name="$1" '$1 == name { print $3 }' ;;
    *) apt-cache madison "$1" | awk '{ print $3 }' ;;
  esac
}
${newestOffered}
choose() {
  version=$(newest "$1" "$2")
  [ -n "$version" ] || fail "no package source offers $1 $2" "a version that begins with $2" \\
    "$(offered "$1" | head -n 5 | tr '\\n' ' ')" 'correct the version in the inventory, or complete the mirror'
}
# The version of NAME beside $version: the same, or the newest that its packager has of the same release.
beside() {
  beside=$version
  if ! offered "$1" | grep -qxF "$version"; then
    release=\${version#*:}
    release=$(newest "$1" "\${release%-*}-")
    beside=\${release:-$version}
  fi
}
# Of the known packages those that some source offers at VERSION, without EXCEPT: \`at VERSION EXCEPT\`.
at() {
  printf '%s\\n' "$offers" | awk -v exact="$1" -v except=" $2 " '
    $3 == exact && !index(except, " " $1 " ") && !seen[$1]++ { print $1 }'
}
installed() {
  dpkg-query -W -f='\${db:Status-Status} \${Version}\\n' "$1" 2>/dev/null | sed -n 's/^installed //p' || :
}
# Removed packages that match, of which the settings are left.
left() {
  dpkg-query -W -f='\${db:Status-Status} \${Package}\\n' "$1" 2>/dev/null | sed -n 's/^config-files //p' || :
}
hold() {
  present=
  for name in "$@"; do
    if [ -n "$(installed "$name")" ]; then present="$present $name"; fi
  done
  # Package names hold no blanks, and are meant to be split.
  # shellcheck disable=SC2086
  if [ -n "$present" ]; then apt-mark hold $present >/dev/null; fi
}
siblings() {
  common=$(installed "$1" | tr '\\n' ' ')
  shift
  dpkg-query -W -f='\${db:Status-Status} \${Version} \${Package}\\n' "$@" 2>/dev/null |
    awk -v common=" $common" '$1 == "installed" && index(common, " " $2 " ") { print $3 }'
}
confirm() {
  seen=$(installed "$1")
  case \${seen#*:} in
    "$2"*) ;;
    *) fail "$1 has the wrong version after its installation" "$2" "$seen" \\
      'check /etc/apt/preferences.d for a pin that prefers another version' ;;
  esac
}`;

/**
 * Shell functions that filter the output of `apt-get -s`. `removals` prints the names that would be removed or purged, one a line,
 * with another architecture than the machine's: `libcuda1:i386`. `downgrades` prints those that would get an older version.
 */
export const consequenceFilters = `removals() {
  awk '$1 == "Remv" || $1 == "Purg" { print $2 }'
}
downgrades() {
  awk '/^[^ ]/ { lower = $0 ~ /^The following packages will be DOWNGRADED:/; next }
    lower { for (field = 1; field <= NF; field++) print $field }'
}
${unforeseenNames}`;

/** Shell text: installs certificate authorities where a bare system has none. */
export const needAuthorities = `if [ ! -s /etc/ssl/certs/ca-certificates.crt ]; then
      update ''
      apt install ca-certificates
    fi`;

/** Returns the beginning of a script that fetches over https. */
export function downloader(proxy: Proxy): string {
  return [...proxyExports(proxy), aptPrelude, download, needAuthorities].join('\n');
}

/**
 * Shell function `download URL FILE [SHA256]`. It uses apt's helper, because a bare system has neither curl nor gpg, and the helper
 * uses apt's proxies. It needs `fail`.
 */
export const download = `download() {
  rm -f "$2"
  taken=yes
  words=$(/usr/lib/apt/apt-helper -o Acquire::Retries=3 download-file "$1" "$2" \${3:+"SHA256:$3"} 2>&1) || taken=
  printf '%s\\n' "$words"
  [ -n "$taken" ] || fail "$1 cannot be downloaded" "the file\${3:+ with sha256 $3}" \\
    "$(printf '%s\\n' "$words" | sed -En 's/^(E|Error): (Failed to fetch [^ ]+ +)?//p' | head -n 1)" \\
    'check the network, the proxy and the mirrors in the inventory'
}`;
