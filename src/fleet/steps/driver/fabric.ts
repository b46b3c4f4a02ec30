import type { Facts } from '../../facts/facts.ts';

/** Its GPUs are joined by switches, and CUDA begins only when the fabric manager has set them up. */
export function fabricSwitches({ nvswitches, nvlink5 }: Pick<Facts, 'nvswitches' | 'nvlink5'>): number {
  return nvswitches + nvlink5.switches;
}

export const fabricUnit = 'nvidia-fabricmanager.service';

/** Why the GPUs behind switches cannot work, whatever driver comes. */
export function fabricObstacle(facts: Pick<Facts, 'nvswitches' | 'nvlink5' | 'packages' | 'driver'>) {
  return maskedObstacle(facts) ?? boardObstacle(facts);
}

/** Its owner has put it away, and nothing but their word brings it back. */
function maskedObstacle(facts: Pick<Facts, 'nvswitches' | 'nvlink5' | 'driver'>) {
  if (fabricSwitches(facts) === 0) return undefined;
  const masked = facts.driver.services.find(
    ({ unit, file }) => unit === fabricUnit && file.startsWith('masked'),
  );
  if (masked === undefined) return undefined;
  const runtime = masked.file === 'masked-runtime' ? '--runtime ' : '';
  return {
    what: `the GPUs are joined by switches, ${fabricUnit} is masked, and without it CUDA ends with error 802`,
    next: `sudo systemctl unmask ${runtime}${fabricUnit}, and run again`,
  };
}

/**
 * The fabric manager of an NVLink 5 board starts NVIDIA's subnet manager and speaks to the switches through ib_umad. The
 * kernel's InfiniBand stack, or NVIDIA's own, is its owner's choice; without it every CUDA program ends with error 802.
 */
function boardObstacle({ nvlink5, packages }: Pick<Facts, 'nvlink5' | 'packages'>) {
  const [silent] = nvlink5.unread ?? [];
  if (nvlink5.switches === 0 && silent !== undefined) {
    return {
      what: `whether this is an NVLink 5 board (HGX B200 or B300), whose GPUs need a fabric manager, cannot be told: the product data of ${nvlink5.unread?.join(', ') ?? ''} cannot be read`,
      next: `see what sudo grep -ac SW_MNG /sys/bus/pci/devices/${silent}/vpd says (1: it is one), and run again once it answers within 10 seconds; a cold start or newer firmware of that card may help`,
    };
  }
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
