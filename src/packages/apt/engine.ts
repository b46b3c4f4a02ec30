import type { SystemNames } from '../names.ts';

/** Debian and Ubuntu name them alike. /var/lib/docker outlives them. */
export const engine: SystemNames['engine'] = {
  own: 'docker.io',
  conflicts: [
    'docker.io',
    'docker-cli',
    'docker-compose',
    'docker-compose-v2',
    'docker-doc',
    'podman-docker',
    'containerd',
    'runc',
  ],
};
