import { failFunction, Raw, sh } from '../../shared/base/shell.ts';
import { HostPaths, managerUnit } from '../../shared/contract/paths.ts';
import type { ManagerVersion } from './manager-version.ts';

/** Folders, and the version's link to its runtime. What is uploaded next lands in them. */
export function installScript(version: ManagerVersion): string {
  return sh`umask 022
mkdir -p ${version.directory} ${version.runtimeDirectory}
install -d -m 0700 ${HostPaths.etc} ${HostPaths.state}
ln -sfn ${version.runtimeDirectory}/node ${version.directory}/node
`;
}

export interface Activation {
  readonly version: ManagerVersion;
  /** systemd has an older text of the unit in memory, or is too old to look for a new one by itself. */
  readonly reload: boolean;
  /** The new credential's file, to be put in place. */
  readonly token: string | undefined;
}

/**
 * Switches to the version and restarts the manager; a version that does not become ready gives way to the one
 * before, which is said. That one stays on the disk, older ones go. Runs as a durable unit: half of it would leave the host
 * between two versions.
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
outcome='there is none before it to go back to'
if [ -n "$previous" ] && [ "$previous" != ${version.directory} ]; then
  switch_to "$previous"
  outcome="the one before does not either: $previous"
  if systemctl restart ${unit}; then outcome="the one before runs again: $previous"; fi
fi
fail "this version of the manager did not become ready; $outcome" "${unit} started within its time" "$last" \
  'see journalctl -u ${unit} on the host; running jobs go on'
`;
}
