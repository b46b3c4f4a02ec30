import { failFunction } from '../../../shared/base/shell.ts';
import { lockHolder, waitForLock } from '../lock.ts';
import { awaitFirstBoot, newestOffered } from '../shell.ts';
import { lockList } from './files.ts';

/** rpm's lock is the kernel's; dnf's are files with the holder's process id (dnf/lock.py of dnf 4). */
export const dnfLocks: readonly string[] = [
  '/var/lib/rpm/.rpm.lock',
  '/usr/lib/sysimage/rpm/.rpm.lock',
  '/var/lib/dnf/rpmdb_lock.pid',
  '/var/cache/dnf/metadata_lock.pid',
  '/var/cache/dnf/download_lock.pid',
];

/**
 * Shell functions that every script for a dnf host starts with.
 * Nothing may ask, or bring packages that were not named; what was asked for comes exactly, or not at all (`best`).
 * Removals and installations of one transaction go through dnf's shell, whose exit code says nothing: its words do.
 * `update FILE` reads all lists, or, within half an hour of that, only those of the repository whose FILE it is. A
 * repository that cannot be read three times is told in one line: the one of FILE ends the script, others are gone on without
 * (`$without`), until all are read again.
 * The list of locks is written here: the plugin's own `delete` takes comments and `!` lines of the owner along.
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
  # What somebody is at has packages twice, too.
  wait_for_lock
  if ! rpm -qa >/dev/null 2>&1; then rpm --rebuilddb; fi
  if [ -n "$(dnf -q --disablerepo='*' repoquery --duplicates 2>/dev/null)" ]; then
    dnf_run --disablerepo='*' -y remove --duplicates ||
      echo 'going on: dnf cannot take away what an interrupted transaction left twice'
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
        fail "\${line:-the package source $own cannot be read}" 'the lists of the package source' 'the same three times' \\
          'check the network, the proxy and the mirrors in the inventory' ;;
    esac
    echo "going on without a package source: \${line:-it cannot be read}"
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
    'look for an exclude in /etc/dnf/dnf.conf, or at the end of /var/log/dnf.log on the host'
  case \${seen#*:} in
    "$2"*) ;;
    *) fail "$1 has the wrong version after its installation" "$2" "$seen" \\
      'look for an exclude in /etc/dnf/dnf.conf, or a repository of a higher priority, that prefers another version' ;;
  esac
}`;
