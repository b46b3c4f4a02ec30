import type { Facts } from '../../facts/facts.ts';

/** Its GPUs are joined by switches, and CUDA begins only when the fabric manager has set them up. */
export function fabricSwitches({ nvswitches, nvlink5 }: Pick<Facts, 'nvswitches' | 'nvlink5'>): number {
  return nvswitches + nvlink5.switches;
}

/**
 * The fabric manager of an NVLink 5 board starts NVIDIA's subnet manager and speaks to the switches through ib_umad. The
 * kernel's InfiniBand stack, or NVIDIA's own, is its owner's choice; without it every CUDA program ends with error 802.
 */
export function fabricObstacle({ nvlink5, packages }: Pick<Facts, 'nvlink5' | 'packages'>) {
  if (nvlink5.switches === 0) return undefined;
  const missing = [
    ...(packages['nvlsm'] === undefined ? ['the package nvlsm'] : []),
    ...(nvlink5.umad ? [] : ['the kernel module ib_umad']),
  ];
  if (missing.length === 0) return undefined;
  return {
    what: `this is an NVLink 5 board (HGX B200 or B300), and without ${missing.join(' and ')} CUDA ends with error 802`,
    next: "install nvlsm from NVIDIA's package source, load ib_umad now and at boot (/etc/modules-load.d), and run again",
  };
}
