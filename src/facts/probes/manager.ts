import { sh } from '../../base/shell.ts';
import { HostPaths, managerUnit } from '../../contract/paths.ts';
import type { Facts } from '../facts.ts';
import { KeyedLines } from '../lines.ts';
import type { FactProbe } from '../probe.ts';

export type InstalledManager = Omit<Facts['manager'], 'status'>;

/** The credential itself never leaves the host: only a digest of it, salted with the machine-id. */
export const managerProbe: FactProbe<InstalledManager> = {
  name: 'manager',
  script: () => sh`
if [ -L ${HostPaths.current} ]; then printf 'current '; readlink ${HostPaths.current}; fi
if [ -e ${HostPaths.unit} ] && [ -d /run/systemd/system ]; then
  systemctl show -p ActiveState -p UnitFileState ${managerUnit} | tr '=' ' '
fi
if [ -r ${HostPaths.token} ]; then
  read -r id </etc/machine-id
  printf 'credential '
  printf '%s:%s' "$id" "$(cat ${HostPaths.token})" | sha256sum
fi`,
  parse: ({ stdout }) => {
    const lines = new KeyedLines(stdout);
    return {
      current: lines.first('current'),
      unitActive: lines.first('ActiveState'),
      unitEnabled: lines.first('UnitFileState') === 'enabled',
      credentialDigest: lines.first('credential')?.slice(0, 64),
    };
  },
};
