import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Release } from './runfile-releases.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import type { HostRoot } from '../../../shared/base/host-root.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';

/** The file while it is needed. */
export const folder = `${HostPaths.runfile}/fetched`;
/** `VERSION compute` or `VERSION graphics`, once it is installed. */
const record = `${HostPaths.runfile}/installed`;

/** Puts the file there whole, or not at all. One that is there already is not fetched again. `downloader`: shell text. */
export function fetchScript({ file, sha256, addresses }: Release, downloader: string): string {
  const [first = '', second = first] = addresses;
  return `${downloader}
${sh`file=${`${folder}/${file}`} sha256=${sha256} address=${first} other=${second}`}
if [ -r "$file" ] && [ "$(sha256sum <"$file" | cut -c 1-64)" = "$sha256" ]; then exit 0; fi
rm -rf ${folder}
install -d -m 755 ${folder}
if [ "$other" = "$address" ] || ! words=$(download "$address" "$file.part" "$sha256" 2>&1); then
  if [ "$other" != "$address" ]; then echo "it is not at $address, trying $other"; fi
  download "$other" "$file.part" "$sha256"
fi
mv "$file.part" "$file"`;
}

/** Runs it, and counts what is there afterwards: its own log of what it installed, and what DKMS says. */
export function installScript(
  { version, file, sha256 }: Release,
  {
    options,
    kernel,
    signs,
    graphics,
    before,
    after,
  }: {
    readonly options: readonly string[];
    /** Release of the kernel that it is built for; undefined: the running one. */
    readonly kernel: string | undefined;
    /** DKMS signs the modules, which the installer has not. */
    readonly signs: boolean;
    readonly graphics: boolean;
    /** Shell text that takes what another driver has left out of its way. */
    readonly before: string;
    /** Shell text that loads it, or says when it will be. */
    readonly after: string;
  },
): string {
  return `${failFunction}
${sh`version=${version} file=${`${folder}/${file}`} sha256=${sha256} log=/var/log/nvidia-installer.log`}
seen=$(sha256sum <"$file" | cut -c 1-64) || seen='no file'
[ "$seen" = "$sha256" ] || fail "$file is not what was fetched" "sha256 $sha256" "$seen" 'run again'
${before === '' ? '' : `${before}\n`}rm -f ${record} "$log"
install -d -m 700 ${folder}/work
if ! words=$(TMPDIR=${folder}/work sh "$file" ${sh`${options}`} --tmpdir=${folder}/work 2>&1); then
  seen=$(printf '%s\\n' "$words" | cat - "$log" 2>/dev/null | grep '^ *ERROR' | sort -u | head -n 3 | tr -s ' \\n' ' ')
  fail "the installer of NVIDIA driver $version gave up" 'the driver, installed' "\${seen:-$words}" \\
    "look at $log on the host, and run again"
fi
seen=$(sed -n '1s/.*(\\([0-9.]*\\))$/\\1/p' /var/lib/nvidia/log 2>/dev/null) || :
[ "$seen" = "$version" ] ||
  fail 'the installer ended well, and has not installed its driver' "$version in /var/lib/nvidia/log" "$seen" \\
    "look at $log on the host"
kernel=${kernel === undefined ? '$(uname -r)' : sh`${kernel}`}
${
  signs
    ? `dkms build --force -m nvidia -v "$version" -k "$kernel"
dkms install --force -m nvidia -v "$version" -k "$kernel"
`
    : ''
}seen=$(dkms status -m nvidia -v "$version" -k "$kernel" 2>&1) || :
case $seen in
  *installed*) ;;
  *) fail "DKMS has not built NVIDIA driver $version for Linux $kernel" installed "$seen" \\
    'look at the newest /var/lib/dkms/nvidia/*/build/make.log on the host' ;;
esac
${persistencedUnit}
${sh`printf '%s\n' ${`${version} ${graphics ? 'graphics' : 'compute'}`} >${record}.new
mv ${record}.new ${record}`}
rm -rf ${folder}
${after}`;
}

/** What runs is what was installed, and its nvidia-smi says so. */
export function confirmLoaded(version: string, root: HostRoot): string {
  return sh`seen=$(cat ${`${root.prefix}/sys/module/nvidia/version`} 2>/dev/null) || :
[ "$seen" = ${version} ] ||
  fail 'another NVIDIA module is loaded than the one that was installed' ${version} "$seen" 'reboot the host, and run again'
seen=$(timeout 60 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>&1 | sort -u) || :
[ "$seen" = ${version} ] ||
  fail 'nvidia-smi does not work with the driver that was installed' ${version} "$seen" 'look at journalctl -k on the host'`;
}

/** By its own uninstaller, which takes its modules out of DKMS, too. `before`: its services and its module end. */
export function uninstallScript(before: string, ownUnit: boolean): string {
  return `${failFunction}
${before}
nvidia-uninstall --silent --skip-module-unload || :
[ ! -e /usr/bin/nvidia-uninstall ] ||
  fail 'the driver of the .run file is still there' 'no /usr/bin/nvidia-uninstall' 'it' \\
    'look at /var/log/nvidia-uninstall.log on the host'
${sh`rm -rf ${[HostPaths.runfile, ...(ownUnit ? [managedFiles.persistenced] : [])]}`}
systemctl daemon-reload`;
}

/** A `.run` file has the daemon, and its unit only as an example among its documentation. */
const text = `# Written by azp-fleet: GPUs stay initialised between containers.
[Unit]
Description=NVIDIA Persistence Daemon

[Service]
Type=forking
ExecStart=/usr/bin/nvidia-persistenced --verbose
ExecStopPost=/bin/rm -rf /run/nvidia-persistenced

[Install]
WantedBy=multi-user.target
`;

/** Shell text: what somebody else has as the unit stays. */
const persistencedUnit = sh`unit=${managedFiles.persistenced}
if [ -x /usr/bin/nvidia-persistenced ] && ! systemctl cat nvidia-persistenced.service >/dev/null 2>&1; then
  printf %s ${text} >"$unit.new"
  mv "$unit.new" "$unit"
  systemctl daemon-reload
fi`;

export function isOurUnit({ files }: Pick<Facts, 'files'>): boolean {
  return files[managedFiles.persistenced] === sha256(text);
}
