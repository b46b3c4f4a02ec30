import { sh } from '../../base/shell.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { Mirrors } from '../../inventory/fleet.ts';
import type { AptSource } from '../apt/source.ts';
import type { Platform } from '../distribution.ts';

/** All four at one version: from 1.18 on they insist on it. */
export const toolkitPackages: readonly string[] = [
  'nvidia-container-toolkit',
  'nvidia-container-toolkit-base',
  'libnvidia-container-tools',
  'libnvidia-container1',
];

/** One flat repository serves every distribution. The key is trusted because it came over TLS, or from the site's mirror. */
export function toolkitSource(platform: Platform, mirrors: Mirrors): AptSource {
  const base = mirrors.toolkit ?? 'https://nvidia.github.io/libnvidia-container';
  return {
    file: managedFiles.toolkitSource,
    uri: `${base}/stable/deb/${platform.arch.dpkg}`,
    suite: '/',
    components: '',
    arch: platform.arch.dpkg,
    keyFile: managedFiles.toolkitKey,
    fetchKey: sh`download ${`${base}/gpgkey`} "$key"`,
    supersedes: String.raw`nvidia\.github\.io/(libnvidia-container|nvidia-docker|nvidia-container-runtime)`,
  };
}
