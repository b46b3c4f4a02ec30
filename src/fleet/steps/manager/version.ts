import type { Facts } from '../../facts/facts.ts';
import type { Artifact, FileArtifact } from '../change.ts';
import type { Desired } from '../step.ts';
import { sha256, stableJson } from '../../../shared/base/digest.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import { HostPaths, managerUnit } from '../../../shared/contract/paths.ts';

/** Returns the Node runtime for a host; undefined: there is none for its architecture. */
export function runtimeOf({ arch, packages }: Facts, { artifacts, mirrors }: Desired): Artifact | undefined {
  // A host that fetches it from the mirror needs the upload only where that fails.
  return artifacts.runtime(arch, packages['zstd'] !== undefined && mirrors.npm === undefined);
}

/** One version of the manager on a host: bundle, build context and the runtime they were made for. */
export interface ManagerVersion {
  readonly id: string;
  /** `/opt/azp-fleet/versions/ID` */
  readonly directory: string;
  readonly runtime: Artifact;
  /** `/opt/azp-fleet/runtime/ID` */
  readonly runtimeDirectory: string;
}

/** Returns a version with an id by content, so that a partial upload never counts as complete and nothing is sent twice. */
export function managerVersion({ artifacts }: Desired, runtime: Artifact): ManagerVersion {
  const context = artifacts.context.map(({ path, artifact }) => [path, artifact.sha256]);
  const id = sha256(stableJson([artifacts.manager.sha256, runtime.sha256, context])).slice(0, 12);
  return {
    id,
    directory: `${HostPaths.versions}/${id}`,
    runtime,
    runtimeDirectory: `${HostPaths.runtimes}/${runtime.sha256.slice(0, 12)}`,
  };
}

/** Returns whether `/opt/azp-fleet/current` already points at this version. */
export function isCurrent(version: ManagerVersion, link: string | undefined): boolean {
  return link?.split('/').at(-1) === version.id;
}

/** Returns a script that creates the folders for the uploads, and the version's link to its runtime. */
export function installScript(version: ManagerVersion): string {
  return sh`umask 022
mkdir -p ${version.directory} ${version.runtimeDirectory}
install -d -m 0700 ${HostPaths.etc} ${HostPaths.state}
ln -sfn ${version.runtimeDirectory}/node ${version.directory}/node
`;
}

/**
 * Returns a script that fetches the runtime from an npm registry. It keeps the part of the file that the upload has (`loadedPart`), and
 * only with the same digest. Otherwise it prints why, and the upload that follows sends the file. `downloader`: shell text.
 */
export function fetchRuntimeScript(
  { sha256, size }: Pick<FileArtifact, 'sha256' | 'size'>,
  directory: string,
  url: string,
  downloader: string,
): string {
  return `${downloader}
${sh`url=${url} file=${`${directory}/node`} sha256=${sha256} size=${size} folder=${`${directory}/fetched`}`}
has_digest() { [ "$(sha256sum <"$1" | cut -c 1-64)" = "$sha256" ]; }
fetch() {
  download "$url" "$folder/node.tgz"
  tar -xzf "$folder/node.tgz" -C "$folder" package/bin/node
  head -c "$size" "$folder/package/bin/node" >"$folder/node"
  printf '%b' '\\0\\0\\0\\0\\0\\0\\0\\0' | dd of="$folder/node" bs=1 seek=40 conv=notrunc status=none
  printf '%b' '\\0\\0\\0\\0' | dd of="$folder/node" bs=1 seek=60 conv=notrunc status=none
  has_digest "$folder/node" || fail "$url has another Node" "sha256 $sha256" 'another one' 'check the mirror'
}
if [ -f "$file" ] && has_digest "$file"; then exit 0; fi
rm -rf "$folder"
install -d -m 700 "$folder"
if output=$(fetch 2>&1); then
  chmod 755 "$folder/node"
  mv "$folder/node" "$file"
else
  printf '%s\\n' "$output" 'Node is uploaded instead'
fi
rm -rf "$folder"
`;
}

interface Activation {
  readonly version: ManagerVersion;
  /** systemd has an older text of the unit in memory, or is too old to read a new one by itself. */
  readonly reload: boolean;
  /** Path of the new credential's file. */
  readonly token: string | undefined;
}

/**
 * Returns a script that switches to the version and restarts the manager. If it does not become ready, the script restores the
 * previous version and says so. The previous version stays on the disk, older ones are removed. Runs as a durable unit, so
 * that it is never interrupted between two versions.
 */
export function activateScript({ version, reload, token }: Activation): string {
  const unit = managerUnit;
  return sh`${new Raw(failFunction)}
previous=$(readlink ${HostPaths.current} || true)
switch_to() {
  ln -sfn "$1" ${HostPaths.current}.next
  mv -T ${HostPaths.current}.next ${HostPaths.current}
}
${new Raw(token === undefined ? sh`rm -f ${HostPaths.token}.next` : sh`mv -f ${token} ${HostPaths.token}`)}
switch_to ${version.directory}
${new Raw(reload ? 'systemctl daemon-reload' : ':')}
systemctl --no-reload enable ${unit}
systemctl reset-failed ${unit} 2>/dev/null || true
if systemctl restart ${unit}; then
  for each in ${HostPaths.versions}/*; do
    case $each in ${version.directory} | "$previous") ;; *) rm -rf "$each" ;; esac
  done
  exit 0
fi
last=$(journalctl -u ${unit} -n 8 --no-pager -o cat || true)
outcome='the host has no previous version'
if [ -n "$previous" ] && [ "$previous" != ${version.directory} ]; then
  switch_to "$previous"
  outcome="restoring the previous one failed too: $previous"
    if systemctl restart ${unit}; then outcome="the previous one is restored: $previous"; fi
fi
fail "this version of the manager did not become ready; $outcome" "${unit} started within its time" "$last" \
  'check journalctl -u ${unit} on the host; running jobs continue'
`;
}
