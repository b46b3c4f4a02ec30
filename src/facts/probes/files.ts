import { sh } from '../../base/shell.ts';
import { HostPaths } from '../../contract/paths.ts';
import { packageManagers } from '../../packages/distribution.ts';
import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';

/** Files that steps write with a content known beforehand, beside those of the package managers. */
export const managedFiles = {
  nouveauBlacklist: '/etc/modprobe.d/azp-fleet-nouveau.conf',
  managerConfig: HostPaths.config,
  managerCa: HostPaths.caBundle,
  managerUnit: HostPaths.unit,
} as const;

export const filesProbe: FactProbe<Facts['files']> = {
  name: 'files',
  script: () => {
    const files = [...packageManagers.flatMap((manager) => manager.files), ...Object.values(managedFiles)];
    return sh`sha256sum ${files} 2>/dev/null || :`;
  },
  parse: ({ stdout }) =>
    Object.fromEntries(
      [...stdout.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].map(([, digest = '', path = '']) => [path, digest]),
    ),
};
