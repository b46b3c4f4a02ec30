/** The plan of a bare host with GPUs, line by line. */
export const bareLines: readonly string[] = [
  'add NVIDIA package repository [nothing]',
  'install NVIDIA driver 580 (open kernel modules, compute only) [nothing]',
  'add Docker package repository [nothing]',
  'configure Docker Engine: live-restore, log-opts [nothing]',
  'install Docker Engine 29.7.2 [nothing]',
  'add NVIDIA Container Toolkit package repository [nothing]',
  'install NVIDIA Container Toolkit 1.20.0 [nothing]',
  'restart Docker Engine with runtimes [new-containers]',
  'write the CDI specification [new-containers]',
];

/** The plan of a bare host without the driver's lines. */
export const afterDriver: readonly string[] = [
  'add Docker package repository [nothing]',
  'configure Docker Engine: live-restore, log-opts [nothing]',
  'install Docker Engine 29.7.2 [nothing]',
  'add NVIDIA Container Toolkit package repository [nothing]',
  'install NVIDIA Container Toolkit 1.20.0 [nothing]',
  'restart Docker Engine with runtimes [new-containers]',
  'write the CDI specification [new-containers]',
];

/** The plan of a bare host without GPUs. */
export const dockerLines: readonly string[] = [
  'add Docker package repository [nothing]',
  'configure Docker Engine: live-restore, log-opts [nothing]',
  'install Docker Engine 29.7.2 [nothing]',
];

/** The driver's lines while nouveau is loaded. */
export const driverWithNouveau: readonly string[] = [
  'add NVIDIA package repository [nothing]',
  'install NVIDIA driver 580 (open kernel modules, compute only) [nothing]',
  'reboot the host [machine]',
];
