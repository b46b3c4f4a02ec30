import { isFatal, readXids, type Repair, unrepaired, type XidEvent } from '../../shared/health/xid.ts';

/** Fatal errors of GPUs since a boot, and what of them is over. */
export interface XidMemory {
  readonly boot: string;
  readonly events: readonly XidEvent[];
  /** Absent: written by an earlier version. */
  readonly repairs?: readonly Repair[];
}

/**
 * All XIDs since the boot: those in the kernel log, and the fatal ones seen earlier that it no longer has. The log is
 * a ring of some hundred KiB, and each container writes a dozen lines into it. Pure.
 */
export function xidsSinceBoot(
  { events, repairs = [] }: Pick<XidMemory, 'events' | 'repairs'>,
  kernelLog: string,
): readonly XidEvent[] {
  const inLog = unrepaired(readXids(kernelLog), repairs);
  return [...events.filter((event) => !inLog.some((other) => isSame(event, other))), ...inLog];
}

/** The memory once somebody has said that a GPU, or `all`, is repaired. `now`: seconds since the boot. Pure. */
export function withRepair(memory: XidMemory, gpu: string, now: number): XidMemory {
  const isMeant = (address: string): boolean => gpu === 'all' || gpu === address;
  const others = (memory.repairs ?? []).filter((repair) => !isMeant(repair.gpu));
  return {
    ...memory,
    events: memory.events.filter((event) => !isMeant(event.gpu)),
    repairs: [...others, { gpu, at: now }],
  };
}

/** What of them has to be kept: one of each kind per GPU. Pure. */
export function worthKeeping(xids: readonly XidEvent[]): readonly XidEvent[] {
  return xids
    .filter(isFatal)
    .filter((event, at, all) => all.findIndex((other) => isSame(event, other)) === at);
}

function isSame(a: XidEvent, b: XidEvent): boolean {
  return a.gpu === b.gpu && a.xid === b.xid;
}

/** By which PCI addresses the slots are numbered, and in which boot that was decided. */
export interface GpuOrder {
  readonly boot: string;
  readonly addresses: readonly string[];
}

/** Cards that the configuration has come to ignore take no place any more. */
export function withoutIgnored(
  order: GpuOrder | undefined,
  ignored: readonly string[],
): GpuOrder | undefined {
  return order && { ...order, addresses: order.addresses.filter((address) => !ignored.includes(address)) };
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
