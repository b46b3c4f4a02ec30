import type { SystemNames } from '../names.ts';

/**
 * Debian and Ubuntu name them alike. /var/lib/docker outlives them. docker-buildx, docker-compose and docker-compose-v2
 * hold the plugins' very files, in no conflict that apt would know of (docker/docs#25506): dpkg ends over them.
 */
export const engine: SystemNames['engine'] = {
  own: 'docker.io',
  conflicts: [
    'docker.io',
    'docker-buildx',
    'docker-cli',
    'docker-compose',
    'docker-compose-v2',
    'docker-doc',
    'podman-docker',
    'containerd',
    'runc',
  ],
};
