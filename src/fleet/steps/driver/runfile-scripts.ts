import type { Facts } from '../../facts/facts.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Release } from './runfile-releases.ts';
import { sha256 } from '../../../shared/base/digest.ts';
import type { HostRoot } from '../../../shared/base/host-root.ts';
import { failFunction, sh } from '../../../shared/base/shell.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';

/** The folder of the downloaded file; removed after the installation. */
export const folder = `${HostPaths.runfile}/fetched`;
/** `VERSION compute` or `VERSION graphics`, once it is installed. */
const record = `${HostPaths.runfile}/installed`;

/** Returns shell text that downloads the file completely or not at all, and only once. `downloader`: shell text. */
export function fetchScript({ file, sha256, addresses }: Release, downloader: string): string {
  const [first = '', second = first] = addresses;
  return `${downloader}
${sh`file=${`${folder}/${file}`} sha256=${sha256} address=${first} other=${second}`}
if [ -r "$file" ] && [ "$(sha256sum <"$file" | cut -c 1-64)" = "$sha256" ]; then exit 0; fi
rm -rf ${folder}
install -d -m 755 ${folder}
if [ "$other" = "$address" ] || ! output=$(download "$address" "$file.part" "$sha256" 2>&1); then
  if [ "$other" != "$address" ]; then echo "download from $address failed, trying $other"; fi
  download "$other" "$file.part" "$sha256"
fi
mv "$file.part" "$file"`;
}

/** Returns shell text that runs the installer and then checks its log and the state of DKMS. */
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
    /** DKMS signs the modules, because the installer did not. */
    readonly signs: boolean;
    readonly graphics: boolean;
    /** Shell text that unloads the modules of another driver. */
    readonly before: string;
    /** Shell text that loads it, or prepares the next boot. */
    readonly after: string;
  },
): string {
  return `${failFunction}
${sh`version=${version} file=${`${folder}/${file}`} sha256=${sha256} log=/var/log/nvidia-installer.log`}
seen=$(sha256sum <"$file" | cut -c 1-64)
[ "$seen" = "$sha256" ] ||
  fail "$file has changed since its download" "sha256 $sha256" "\${seen:-no file}" 'run again'
${before === '' ? '' : `${before}\n`}rm -f ${record} "$log"
install -d -m 700 ${folder}/work
if ! output=$(TMPDIR=${folder}/work sh "$file" ${sh`${options}`} --tmpdir=${folder}/work 2>&1); then
  seen=$(printf '%s\\n' "$output" | cat - "$log" 2>/dev/null | grep '^ *ERROR' | sort -u | head -n 3 | tr -s ' \\n' ' ')
  fail "the installer of NVIDIA driver $version failed" 'the driver, installed' "\${seen:-$output}" \\
      "check $log on the host, and run again"
fi
seen=$(sed -n '1s/.*(\\([0-9.]*\\))$/\\1/p' /var/lib/nvidia/log 2>/dev/null) || :
[ "$seen" = "$version" ] ||
  fail 'the installer succeeded without installing its driver' "$version in /var/lib/nvidia/log" "$seen" \\
      "check $log on the host"
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
    'check the newest /var/lib/dkms/nvidia/*/build/make.log on the host' ;;
esac
${persistencedUnit}
${sh`printf '%s\n' ${`${version} ${graphics ? 'graphics' : 'compute'}`} >${record}.new
mv ${record}.new ${record}`}
rm -rf ${folder}
${after}`;
}

/** Returns shell text that checks that the installed version is loaded and nvidia-smi works with it. */
export function confirmLoaded(version: string, root: HostRoot): string {
  return sh`seen=$(cat ${`${root.prefix}/sys/module/nvidia/version`} 2>/dev/null) || :
[ "$seen" = ${version} ] ||
  fail 'the loaded NVIDIA module is not the installed one' ${version} "$seen" 'reboot the host, and run again'
seen=$(timeout 60 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>&1 | sort -u) || :
[ "$seen" = ${version} ] ||
  fail 'nvidia-smi does not work with the installed driver' ${version} "$seen" 'check journalctl -k on the host'`;
}

/** Returns shell text that runs the driver's uninstaller, which also removes its modules from DKMS. `before`: stops its services and unloads its module. */
export function uninstallScript(before: string, ownUnit: boolean): string {
  return `${failFunction}
${before}
nvidia-uninstall --silent --skip-module-unload || :
[ ! -e /usr/bin/nvidia-uninstall ] ||
  fail 'nvidia-uninstall did not remove the driver of the .run file' 'no /usr/bin/nvidia-uninstall' 'it exists' \\
      'check /var/log/nvidia-uninstall.log on the host'
${sh`rm -rf ${[HostPaths.runfile, ...(ownUnit ? [managedFiles.persistenced] : [])]}`}
systemctl daemon-reload`;
}

/** The unit of nvidia-persistenced: a `.run` file contains it only as an example in its documentation. */
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

/** Shell text that writes the unit where the host has none. */
const persistencedUnit = sh`unit=${managedFiles.persistenced}
if [ -x /usr/bin/nvidia-persistenced ] && ! systemctl cat nvidia-persistenced.service >/dev/null 2>&1; then
  printf %s ${text} >"$unit.new"
  mv "$unit.new" "$unit"
  systemctl daemon-reload
fi`;

export function isOurUnit({ files }: Pick<Facts, 'files'>): boolean {
  return files[managedFiles.persistenced] === sha256(text);
}
