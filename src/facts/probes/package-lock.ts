import type { FactProbe } from '../probe.ts';

/**
 * Shell function `package_lock_holder`: prints `NAME (pid N) holds FILE` for each holder of dpkg's and apt's locks.
 * The lock files always exist; only the kernel's table tells whether anybody holds them.
 */
export const packageLockHolder = `package_lock_holder() {
  stat -c '%i %n' /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock 2>/dev/null |
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

/** Who holds the package database, if anybody: `unattended-upgr (pid 812) holds /var/lib/dpkg/lock-frontend`. */
export const packageLockProbe: FactProbe<string | undefined> = {
  name: 'package-lock',
  script: () => `${packageLockHolder}\npackage_lock_holder`,
  parse: ({ stdout }) => stdout.split('\n')[0] || undefined,
};
