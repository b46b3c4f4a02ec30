import { sh } from '../../shared/base/shell.ts';
import type { Proxy } from '../inventory/fleet.ts';

/** Shell function `await_first_boot`: waits for cloud-init, which installs packages too. */
export const awaitFirstBoot = `await_first_boot() {
  if [ -x /usr/bin/cloud-init ] && [ ! -e /run/cloud-init/result.json ]; then
    echo 'waiting for cloud-init to end'
    timeout 1200 cloud-init status --wait >/dev/null || :
  fi
}`;

/** Shell function `newest NAME PREFIX`: prints the first version of `offered` that begins with the prefix, epoch aside. */
export const newestOffered = `newest() {
  offered "$1" | awk -v prefix="$2" '{ bare = $0; sub(/^[0-9]+:/, "", bare) } index(bare, prefix) == 1 { print; exit }'
}`;

/** Shell function `unforeseen PATTERN…`: filters out the names that a shell pattern matches, of any architecture. */
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

/** Returns exports of the proxy for one script. A proxy in the package manager's own configuration takes precedence. */
export function proxyExports({ http, https, noProxy }: Proxy): string[] {
  return [
    ...(http === undefined ? [] : [sh`export http_proxy=${http}`]),
    ...(https === undefined ? [] : [sh`export https_proxy=${https}`]),
    ...(noProxy.length === 0 ? [] : [sh`export no_proxy=${noProxy.join(',')}`]),
  ];
}

/**
 * Returns shell function `package_lock_holder`: prints `NAME (pid N) holds FILE` for each holder of these lock files.
 * The files may always exist; only the kernel's table of locks shows a holder. It names files by inode and by the device of the
 * mounted file system, which differs from `stat`'s on btrfs. Where the device is unknown, the inode decides. A file that ends
 * in `.pid` has the process id of its holder, and counts as long as that process runs.
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
  while read -r inode mount lock; do
    [ -n "$inode" ] || break
    while read -r _ _ _ _ pid file _; do
      [ "\${file##*:}" = "$inode" ] || continue
      case $(lock_device "$mount") in '' | "\${file%:*}") ;; *) continue ;; esac
      lock_held_by "$pid" "$lock"
      break
    done </proc/locks
  done <<EOF
$(${sh`stat -c '%i %m %n' ${locks}`} 2>/dev/null)
EOF${pidFiles.length === 0 ? '' : `\n${pidLocks(pidFiles)}`}
}`;
}

function pidLocks(files: readonly string[]): string {
  return `  for lock in ${sh`${files}`}; do
    pid=
    # dnf writes the number without a newline: read fails, and has read it.
    if [ -r "$lock" ]; then { read -r pid <"$lock" || :; } 2>/dev/null; fi
    if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then lock_held_by "$pid" "$lock"; fi
  done`;
}

/** Shell function `wait_for_lock`: waits up to 30 minutes. It needs `package_lock_holder` and `fail`. */
export const waitForLock = `wait_for_lock() {
  waited=0
  while holder=$(package_lock_holder) && [ -n "$holder" ]; do
    if [ "$((waited % 30))" -eq 0 ]; then echo "waiting, because $holder ($waited s)"; fi
    [ "$waited" -lt 1800 ] || fail 'the package database stays locked' 'a free lock within 30 minutes' "$holder" \\
      'wait until that process exits, or stop it, and run again'
    waited=$((waited + 2))
    sleep 2
  done
}`;

/** Shell text of a simulation: makes its folder in `$scratch`, and removes it when the script ends. */
export const makeFolder = `umask 022
find /run -maxdepth 1 -name 'azp-fleet-simulation.*' -mmin +60 -exec rm -rf {} +
scratch=$(mktemp -d /run/azp-fleet-simulation.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM`;

/** Shell function `fail` of a simulation: the failure is the answer to one transaction. */
export const simulatedFail = `fail() {
  printf 'what %s (expected %s; seen: %s)\\nnext %s\\n' "$1" "$2" "$(printf '%s' "$3" | tr '\\n' ' ' | cut -c 1-300)" "$4" >&3
  exit 0
}`;

/** Shell function `bring` of a simulation: adds the names to `$brought` instead of installing. */
export const noteBrought = `bring() {
  brought="$brought $*"
}`;
