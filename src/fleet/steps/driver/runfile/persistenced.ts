import { sha256 } from '../../../../shared/base/digest.ts';
import { sh } from '../../../../shared/base/shell.ts';
import type { Facts } from '../../../facts/facts.ts';
import { managedFiles } from '../../../facts/probes/files.ts';

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
export const persistencedUnit = sh`unit=${managedFiles.persistenced}
if [ -x /usr/bin/nvidia-persistenced ] && ! systemctl cat nvidia-persistenced.service >/dev/null 2>&1; then
  printf %s ${text} >"$unit.new"
  mv "$unit.new" "$unit"
  systemctl daemon-reload
fi`;

export function isOurUnit({ files }: Pick<Facts, 'files'>): boolean {
  return files[managedFiles.persistenced] === sha256(text);
}
