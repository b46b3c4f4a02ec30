import { sh } from '../../../shared/base/shell.ts';
import { folderMark, packagesFolder, type InstalledProbe } from '../package-manager.ts';
import { packageManager } from '../scripts.ts';
import { dnfTransactions, removeScript, unholdScript } from './install.ts';
import { desktop } from './names.ts';
import { dnfFolder, gatherScript, indexPath, listedPackages, tidyScript } from './offline.ts';
import { dnfLocks, downloader, lockList } from './prelude.ts';
import { dnfSimulation } from './simulation.ts';
import { dnfFiles, dnfFolders, dnfSource, dnfTrust, withdrawal } from './source.ts';

/**
 * Packages after which dnf's `needs-restarting` requests a reboot (dnf-plugins-core, needs_restarting.py). Like it, the script uses
 * the later of the two boot times, because the clock may have been wrong when the kernel started. Every system has some of them: where
 * rpm lists none, its database is lost, and rpm ends with 0.
 */
const bootedOnce = [
  'kernel',
  'kernel-core',
  'kernel-uek-core',
  'glibc',
  'linux-firmware',
  'microcode_ctl',
  'systemd',
  'dbus-broker',
  'dbus-daemon',
];

/**
 * Reads rpm's packages and the lines of the versionlock plugin. A lock may be any pattern: `docker-ce-3:29.7.2-1.el9.*`,
 * `*nvidia*580*`. Lines with `!` exclude versions, and hold nothing.
 */
const dnfInstalled: InstalledProbe = {
  script: (patterns) => `if command -v rpm >/dev/null && [ -d /etc/yum.repos.d ]; then
  rpm -qa --qf '%{NAME} %{EPOCHNUM} %{VERSION} %{RELEASE} %{ARCH}\\n' ${sh`${[...patterns, ...desktop.own]}`} || exit
  sed -n 's/^ *\\([^ #!][^ ]*\\).*/lock \\1/p' ${lockList} 2>/dev/null || :
  rpm -q --qf '%{INSTALLTIME}\\n' ${sh`${bootedOnce}`} 2>/dev/null |
    awk -v kernel="$(sed -n 's/^btime //p' /proc/stat)" -v first="$(stat -c %Y /proc/1)" '
      /^[0-9]+$/ { found = 1 }
      $1 + 0 > kernel + 0 && $1 + 0 > first + 0 { newer = 1 }
      END { if (newer) print "reboot"; exit (found ? 0 : 1) }' ||
    { echo 'the database of rpm lists no system package: it is lost' >&2; exit 1; }
fi`,
  line: /^(\S+ \d+ \S+ \S+ \S+$|lock |reboot$)/,
  byHand: 'rpm -qa | head',
  parse: (output) => {
    const lines = output.split('\n');
    const locks = lines.flatMap((line) =>
      line.startsWith('lock ') ? [globOf(line.slice('lock '.length))] : [],
    );
    const found = lines.flatMap(packageIn);
    const held = found.filter(({ names }) => names.some((name) => locks.some((lock) => lock.test(name))));
    return {
      packages: Object.fromEntries(
        found.flatMap(({ name, version, full }) => [
          [name, version],
          ...(kernels.test(name) ? [[full, version] as const] : []),
        ]),
      ),
      held: [...new Set(held.map(({ name }) => name))].toSorted(),
      awaitsReboot: lines.includes('reboot'),
    };
  },
};

/** Several of these may be installed: each is listed by its full name too. */
const kernels = /^kernel(-uek|-64k|-rt|\d+\.\d+)?(-core)?$/;

/** Full name of a kernel: `kernel-core-5.14.0-570.el9.x86_64`. */
const kernelPackage = /^kernel(-uek|-64k|-rt|\d+\.\d+)?(-core)?-\d[^-]*-[^-]+$/;

interface Found {
  readonly name: string;
  /** `kernel-core-5.14.0-570.el9.x86_64` */
  readonly full: string;
  readonly version: string;
  /** All names by which a lock may match it. */
  readonly names: readonly string[];
}

function packageIn(line: string): Found[] {
  const [name, epoch, version, release, arch, more] = line.split(' ');
  if (name === undefined || epoch === undefined || version === undefined || release === undefined) return [];
  if (arch === undefined || more !== undefined || !/^\d+$/.test(epoch)) return [];
  const full = `${version}-${release}`;
  return [
    {
      name,
      full: `${name}-${full}.${arch}`,
      version: epoch === '0' ? full : `${epoch}:${full}`,
      names: [
        name,
        `${name}.${arch}`,
        `${name}-${version}`,
        ...[full, `${epoch}:${full}`].flatMap((each) => [`${name}-${each}`, `${name}-${each}.${arch}`]),
      ],
    },
  ];
}

/** Converts a shell pattern of the lock list, at most 200 characters of it. */
function globOf(pattern: string): RegExp {
  const text = pattern
    .slice(0, 200)
    .replaceAll(/\*+/g, '*')
    .replaceAll(/[\\^$.|+(){}[\]]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${text}$`);
}

/** dnf 4 with rpm: Red Hat Enterprise Linux 8 to 10, its relatives, and Amazon Linux 2023. */
export const dnf = packageManager({
  name: 'dnf',
  files: [...dnfFiles, folderMark],
  sourceFolder: '/etc/yum.repos.d',
  folders: dnfFolders,
  locks: dnfLocks,
  installed: dnfInstalled,
  driverLibraries: /^nvidia-driver-cuda-libs$/,
  trust: dnfTrust,
  source: dnfSource,
  unhold: unholdScript,
  remove: removeScript,
  withdraw: withdrawal,
  downloader,
  removal: (names) => sh`sudo dnf remove ${names}`,
  transactions: dnfTransactions,
  simulation: dnfSimulation,
  folder: dnfFolder,
  offline: {
    index: `${packagesFolder}/${indexPath}`,
    isKernel: (name) => kernelPackage.test(name),
    gather: gatherScript,
    fetches: /^\(\d+\/\d+\): /,
    listed: listedPackages,
    bringsToHold: true,
    tidy: tidyScript,
  },
});
