/** Docker's own packages, whose names are the same everywhere. These carry the engine's version. */
export const enginePackages: readonly string[] = ['docker-ce', 'docker-ce-cli'];

export const dockerPackages: readonly string[] = [
  ...enginePackages,
  'containerd.io',
  'docker-buildx-plugin',
  'docker-compose-plugin',
];

/** Patterns of what may go for them, plugins that a distribution packages by themselves among it. */
export const replaced: readonly string[] = ['docker*', 'containerd*'];
