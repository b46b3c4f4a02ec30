import { sh } from '../../../shared/base/shell.ts';
import { folderMark, packagesFolder, type InstalledProbe } from '../package-manager.ts';
import { packageManager } from '../scripts.ts';
import { aptTransactions, removeScript, unholdScript } from './install.ts';
import { desktop } from './names.ts';
import { aptFolder, gatherScript, indexName, listedPackages, tidyScript } from './offline.ts';
import { aptLocks, downloader } from './prelude.ts';
import { aptSimulation } from './simulation.ts';
import { aptFiles, aptFolders, aptSource, aptTrust, withdrawal } from './source.ts';

/** dpkg's states of an unfinished installation or removal. */
const begun: ReadonlySet<string> = new Set([
  'half-configured',
  'half-installed',
  'unpacked',
  'triggers-awaited',
  'triggers-pending',
]);

const statusFile = '/var/lib/dpkg/status';

/** Reads packages and holds from dpkg's status file at once; apt's tools take ten times as long. */
const aptInstalled: InstalledProbe = {
  script: (patterns) => `if command -v dpkg-query >/dev/null; then
  grep -qsx 'Package: dpkg' ${statusFile} || { echo 'the list of packages is lost: ${statusFile}' >&2; exit 1; }
  # Its code is 1 where no package matches a pattern.
  dpkg-query -W -f='\${db:Status-Status} \${db:Status-Want} \${Package} \${Version}\\n' ${sh`${[...patterns, ...desktop.own]}`} 2>/dev/null ||
    [ "$?" -eq 1 ] || exit 1
fi`,
  line: /^[a-z-]+ [a-z]+ \S+ \S*$/,
  byHand: 'sudo dpkg --audit; dpkg-query -W docker-ce',
  parse: (output) => {
    const packages: Record<string, string> = {};
    const unfinished: Record<string, string> = {};
    const held: string[] = [];
    for (const line of output.split('\n')) {
      const [status, want, name, version] = line.split(' ');
      if (status === undefined || name === undefined || version === undefined) continue;
      if (begun.has(status)) unfinished[name] = version;
      if (status !== 'installed') continue;
      packages[name] = version;
      if (want === 'hold') held.push(name);
    }
    // Debian's packages write /run/reboot-required.
    return { packages, unfinished, held: [...new Set(held)].sort(), awaitsReboot: false };
  },
};

/** Debian's and Ubuntu's package manager. */
export const apt = packageManager({
  name: 'apt',
  files: [...aptFiles, folderMark],
  sourceFolder: '/etc/apt/sources.list.d',
  folders: aptFolders,
  locks: aptLocks,
  installed: aptInstalled,
  // The Debian packages' name, and Ubuntu's.
  driverLibraries: /^(libnvidia-ml1|libnvidia-compute(-\d+(-server)?)?|nvidia-driver-cuda)$/,
  trust: aptTrust,
  source: aptSource,
  unhold: unholdScript,
  pins: `for file in /etc/apt/preferences /etc/apt/preferences.d/*; do
  # NVIDIA's packages pin the driver's branch.
  case $file in */nvidia-driver-pinning*) continue ;; esac
  [ -f "$file" ] || continue
  names=
  while read -r key value || [ -n "$key" ]; do
    case $key-$value in
      Package:-*) names=$value ;;
      Pin:-version*) echo "pinned $names" ;;
    esac
  done <"$file"
done`,
  remove: removeScript,
  withdraw: withdrawal,
  downloader,
  removal: (names) => sh`sudo apt-get remove ${names}`,
  transactions: aptTransactions,
  simulation: aptSimulation,
  folder: aptFolder,
  offline: {
    index: `${packagesFolder}/${indexName}`,
    isKernel: (name) => /^(?:linux-image|proxmox-(?:default-)?kernel|pve-kernel)/.test(name),
    gather: gatherScript,
    fetches: /^Get:/,
    listed: listedPackages,
    bringsToHold: false,
    tidy: tidyScript,
  },
});
