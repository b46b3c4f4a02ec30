import { sh } from '../../shared/base/shell.ts';
import type { Proxy } from '../inventory/fleet.ts';
import type { Vendor } from './vendors.ts';

/** Shell functions that the scripts of several package managers begin with. */

/** `await_first_boot`: a first boot installs packages, too, and ends on its own. */
export const awaitFirstBoot = `await_first_boot() {
  if [ -x /usr/bin/cloud-init ] && [ ! -e /run/cloud-init/result.json ]; then
    echo 'waiting for cloud-init to end'
    timeout 1200 cloud-init status --wait >/dev/null || :
  fi
}`;

/** `newest NAME PREFIX`: of what `offered` says, the first that begins so without its epoch, which is the packager's. */
export const newestOffered = `newest() {
  offered "$1" | awk -v prefix="$2" '{ bare = $0; sub(/^[0-9]+:/, "", bare) } index(bare, prefix) == 1 { print; exit }'
}`;

/** `unforeseen PATTERN…`: names in, those out that no shell pattern matches, whatever their architecture. */
export const unforeseenNames = `unforeseen() {
  while read -r name; do
    for pattern in "$@"; do
      # It is meant as a pattern.
      # shellcheck disable=SC2254
      case \${name%%:*} in $pattern) continue 2 ;; esac
    done
    printf '%s\\n' "$name"
  done
}`;

/**
 * Exports for the length of one script. What the host's own configuration of its package manager says wins over them,
 * and its own use of it is left as it is.
 */
export function proxyExports({ http, https, noProxy }: Proxy): string[] {
  return [
    ...(http === undefined ? [] : [sh`export http_proxy=${http}`]),
    ...(https === undefined ? [] : [sh`export https_proxy=${https}`]),
    ...(noProxy.length === 0 ? [] : [sh`export no_proxy=${noProxy.join(',')}`]),
  ];
}

/**
 * Shell function `package_lock_holder`: prints `NAME (pid N) holds FILE` for each holder of these lock files.
 * The files may always exist; only the kernel's table tells whether anybody holds them. It has files by device and number,
 * where the device is that of the mounted file system: what `stat` gives is another one on btrfs. Where it cannot be told, the number decides. A file that ends in
 * `.pid` is no lock of the kernel's: it has its holder's process id, and counts as long as that process lives.
 */
export function lockHolder(files: readonly string[]): string {
  const pidFiles = files.filter((file) => file.endsWith('.pid'));
  const locks = files.filter((file) => !file.endsWith('.pid'));
  return `lock_held_by() {
  name=unknown
  if [ -r "/proc/$1/comm" ]; then read -r name <"/proc/$1/comm"; fi
  echo "$name (pid $1) holds $2"
}
lock_device() {
  awk -v mount="$1" '$5 == mount { split($3, number, ":") }
    END { if (number[1] != "") printf "%02x:%02x", number[1], number[2] }' /proc/self/mountinfo 2>/dev/null || :
}
package_lock_holder() {
  ${sh`stat -c '%i %m %n' ${locks}`} 2>/dev/null |
    while read -r inode mount lock; do
      while read -r _ _ _ _ pid file _; do
        [ "\${file##*:}" = "$inode" ] || continue
        case $(lock_device "$mount") in '' | "\${file%:*}") ;; *) continue ;; esac
        lock_held_by "$pid" "$lock"
        break
      done </proc/locks
    done${pidFiles.length === 0 ? '' : `\n${pidLocks(pidFiles)}`}
}`;
}

function pidLocks(files: readonly string[]): string {
  return `  for lock in ${sh`${files}`}; do
    pid=
    # dnf writes the number without a newline, where read says no, and has read it.
    if [ -r "$lock" ]; then { read -r pid <"$lock" || :; } 2>/dev/null; fi
    if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then lock_held_by "$pid" "$lock"; fi
  done`;
}

/** Shell function `wait_for_lock`. It needs `package_lock_holder` and `fail`. */
export const waitForLock = `wait_for_lock() {
  waited=0
  while holder=$(package_lock_holder) && [ -n "$holder" ]; do
    if [ "$((waited % 30))" -eq 0 ]; then echo "waiting, because $holder ($waited s)"; fi
    [ "$waited" -lt 1800 ] || fail 'the package database stays locked' 'a free lock within 30 minutes' "$holder" \\
      'let that process end, or end it by hand, and run again'
    waited=$((waited + 2))
    sleep 2
  done
}`;

/** A source of others that ours stands in the place of. */
export interface SetAside {
  /** As its owner calls it. */
  readonly file: string;
  /** What it is called now. */
  readonly aside: string;
}

/** How a source ends that was switched off for a vendor's: apt and dnf pass over it, and it tells whose doing that was. */
export function asideEnding(vendor: Vendor): string {
  return `.azp-fleet-${vendor}.disabled`;
}

/** Shell text: switches off the source `$other`. */
export function setAside(vendor: Vendor): string {
  return sh`mv "$other" "$other"${asideEnding(vendor)}`;
}

/** Script: gives sources back as they were. What has its name again meanwhile is left alone. */
export function giveBack(sources: readonly SetAside[]): string {
  return [
    ...sources.map(
      ({ file, aside }) => sh`if [ ! -e ${file} ] && [ -e ${aside} ]; then mv ${aside} ${file}; fi`,
    ),
    'rm -f /run/azp-fleet/package-lists',
  ].join('\n');
}
