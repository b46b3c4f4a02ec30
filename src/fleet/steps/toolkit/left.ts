import type { Facts } from '../../facts/facts.ts';

/**
 * Why GPUs do not get into containers with the toolkit that the inventory leaves to its owner (`toolkit: none`).
 * `driverStays`: no other one is about to come; what describes it would change with it.
 */
export function leftToolkitObstacle(
  facts: Facts,
  driverStays: boolean,
): { readonly what: string; readonly next: string } | undefined {
  const { version, unpackaged, cdiDriver } = facts.toolkit;
  const { loaded } = facts.driver;
  if (version === undefined && !unpackaged) {
    return {
      what: 'the inventory leaves the NVIDIA Container Toolkit alone, and none is installed',
      next: 'install it by hand, or remove "toolkit: none" from the inventory',
    };
  }
  if (cdiDriver === undefined || cdiDriver === loaded || !driverStays) return undefined;
  return {
    what: `the CDI specification was made for driver ${cdiDriver}, and ${loaded ?? 'none'} is loaded`,
    next: 'sudo nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml, or remove "toolkit: none" from the inventory',
  };
}
