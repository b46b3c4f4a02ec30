import { failFunction } from '../../base/shell.ts';
import { lockHolder, waitForLock } from '../lock.ts';
import { awaitFirstBoot, newestOffered } from '../shell.ts';

export const aptLocks: readonly string[] = [
  '/var/lib/dpkg/lock-frontend',
  '/var/lib/dpkg/lock',
  '/var/lib/apt/lists/lock',
];

/**
 * Shell functions that every script for an apt host starts with.
 * `DPkg::Lock::Timeout` waits for dpkg's locks, but not for that of the package lists: `update` does that itself.
 * Nothing may ask, restart services on its own, or bring packages that were not named.
 * A download that fails is a warning to apt; `update` takes it for an error, tries again, and then goes on without.
 * `update FILE` reads all package lists, or, within half an hour of that, only those of the source FILE.
 * Versions are compared without their epoch, which is the packager's.
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
    -o APT::Install-Recommends=false "$@"
}
apt() {
  wait_for_lock
  apt_get "$@"
}
${awaitFirstBoot}
update() {
  await_first_boot
  if [ -n "$(dpkg --audit)" ] || [ -n "$(ls /var/lib/dpkg/updates)" ]; then
    wait_for_lock
    dpkg --configure -a --force-confdef --force-confold ||
      echo 'going on: what dpkg cannot configure, apt unpacks again'
  fi
  set -- "$1" "$(find /run/azp-fleet/package-lists -mmin -30 2>/dev/null)"
  if [ -n "$2" ] && [ -e "$1" ]; then
    set -- -o Dir::Etc::SourceList="$1" -o Dir::Etc::SourceParts=- -o APT::Get::List-Cleanup=0
  else
    set --
  fi
  for pause in 3 10 0; do
    if apt update -o APT::Update::Error-Mode=any "$@"; then break; fi
    if [ "$pause" -eq 0 ]; then
      echo 'going on with the package lists that could be read'
    else
      echo "not all package lists could be read, trying again in $pause s"
      sleep "$pause"
    fi
  done
  if [ "$#" -eq 0 ]; then install -D /dev/null /run/azp-fleet/package-lists; fi
}
offered() {
  apt-cache madison "$1" | awk '{ print $3 }'
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
# Of the packages NAME… those that some source offers at VERSION, without EXCEPT: \`at VERSION EXCEPT NAME…\`.
at() {
  wanted=$1 except=$2
  shift 2
  if [ "$#" -gt 0 ]; then
    apt-cache madison "$@" | awk -v wanted="$wanted" -v except=" $except " '
      $3 == wanted && !index(except, " " $1 " ") && !seen[$1]++ { print $1 }'
  fi
}
installed() {
  dpkg-query -W -f='\${db:Status-Status} \${Version}\\n' "$1" 2>/dev/null | sed -n 's/^installed //p' || :
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
      'look for a pin under /etc/apt/preferences.d that prefers another version' ;;
  esac
}`;
