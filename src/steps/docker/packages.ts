import { sh } from '../../base/shell.ts';
import type { Mirrors } from '../../inventory/fleet.ts';
import { managedFiles } from '../../facts/probes/files.ts';
import type { AptSource } from '../apt/source.ts';
import type { Platform } from '../distribution.ts';

/** Carry the engine's version. */
export const enginePackages: readonly string[] = ['docker-ce', 'docker-ce-cli'];

export const dockerPackages: readonly string[] = [
  ...enginePackages,
  'containerd.io',
  'docker-buildx-plugin',
  'docker-compose-plugin',
];

/** Distributions' packages that hold the same files. /var/lib/docker outlives them. */
export const conflicts: readonly string[] = [
  'docker.io',
  'docker-compose',
  'docker-compose-v2',
  'docker-doc',
  'podman-docker',
  'containerd',
  'runc',
];

/** The key is trusted because it came over TLS, or from the site's own mirror. */
export function dockerSource(platform: Platform, mirrors: Mirrors): AptSource {
  const uri = `${mirrors.docker ?? 'https://download.docker.com/linux'}/${platform.docker}`;
  return {
    file: managedFiles.dockerSource,
    uri,
    suite: platform.codename,
    components: 'stable',
    arch: platform.arch.dpkg,
    keyFile: managedFiles.dockerKey,
    fetchKey: sh`download ${`${uri}/gpg`} "$key"`,
    supersedes: String.raw`download\.docker\.com/linux`,
  };
}
