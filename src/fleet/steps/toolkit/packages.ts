/** All four at one version: from 1.18 on they insist on it. */
export const toolkitPackages: readonly string[] = [
  'nvidia-container-toolkit',
  'nvidia-container-toolkit-base',
  'libnvidia-container-tools',
  'libnvidia-container1',
];

/** Patterns of what may go for them: the packages of the time before the toolkit. */
export const replaced: readonly string[] = ['nvidia-docker*', 'nvidia-container-*', 'libnvidia-container*'];
