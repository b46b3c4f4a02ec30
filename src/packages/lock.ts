import { sh } from '../base/shell.ts';

/**
 * Shell function `package_lock_holder`: prints `NAME (pid N) holds FILE` for each holder of these lock files.
 * The files always exist; only the kernel's table tells whether anybody holds them.
 */
export function lockHolder(files: readonly string[]): string {
  return `package_lock_holder() {
  ${sh`stat -c '%i %n' ${files}`} 2>/dev/null |
    while read -r inode lock; do
      while read -r _ _ _ _ pid file _; do
        [ "\${file##*:}" = "$inode" ] || continue
        name=unknown
        if [ -r "/proc/$pid/comm" ]; then read -r name <"/proc/$pid/comm"; fi
        echo "$name (pid $pid) holds $lock"
        break
      done </proc/locks
    done
}`;
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
