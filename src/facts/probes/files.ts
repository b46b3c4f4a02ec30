import { sh } from '../../base/shell.ts';
import { HostPaths } from '../../contract/paths.ts';
import type { Facts } from '../facts.ts';
import type { FactProbe } from '../probe.ts';

/** Files that steps write with a content known beforehand, or whose presence they look at. */
export const managedFiles = {
  driverSource: '/etc/apt/sources.list.d/azp-fleet-nvidia.sources',
  driverKey: '/etc/apt/keyrings/azp-fleet-nvidia.gpg',
  nouveauBlacklist: '/etc/modprobe.d/azp-fleet-nouveau.conf',
  dockerSource: '/etc/apt/sources.list.d/azp-fleet-docker.sources',
  dockerKey: '/etc/apt/keyrings/azp-fleet-docker.asc',
  toolkitSource: '/etc/apt/sources.list.d/azp-fleet-nvidia-container-toolkit.sources',
  toolkitKey: '/etc/apt/keyrings/azp-fleet-nvidia-container-toolkit.asc',
  siteCa: '/usr/local/share/ca-certificates/azp-fleet-site.crt',
  managerConfig: HostPaths.config,
  managerCa: HostPaths.caBundle,
  managerUnit: HostPaths.unit,
} as const;

export const filesProbe: FactProbe<Facts['files']> = {
  name: 'files',
  script: () => sh`sha256sum ${Object.values(managedFiles)} 2>/dev/null || :`,
  parse: ({ stdout }) =>
    Object.fromEntries(
      [...stdout.matchAll(/^([0-9a-f]{64}) [ *](.+)$/gm)].map(([, digest = '', path = '']) => [path, digest]),
    ),
};
