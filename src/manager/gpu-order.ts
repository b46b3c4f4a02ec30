/** By which PCI addresses the slots are numbered, and in which boot that was decided. */
export interface GpuOrder {
  readonly boot: string;
  readonly addresses: readonly string[];
}

/**
 * A GPU that falls off the bus must not move the others to other slots: within one boot, addresses that are gone keep
 * their place. A reboot counts anew, unless the inventory says that there should be more.
 */
export function gpuOrder(
  known: GpuOrder | undefined,
  present: readonly string[],
  boot: string,
  expected: number | undefined,
): GpuOrder {
  const isSubset = known !== undefined && present.every((address) => known.addresses.includes(address));
  const remembers = known?.boot === boot || (expected !== undefined && present.length < expected);
  return isSubset && remembers ? { boot, addresses: known.addresses } : { boot, addresses: present };
}
