import { isWorthKeeping, type KernelEvent, readKernelEvents } from '../../shared/health/kernel-events.ts';
import {
  isFatal,
  readXids,
  type Repair,
  unrepaired,
  type XidEvent,
  xidKey,
} from '../../shared/health/xid.ts';

/** Fatal XIDs of GPUs since a boot, and repairs. */
export interface XidMemory {
  readonly boot: string;
  readonly events: readonly XidEvent[];
  /** Absent: written by an earlier version. */
  readonly repairs?: readonly Repair[];
  /** Other events than XIDs. Absent: none, or written by an earlier version. */
  readonly others?: readonly KernelEvent[];
}

/**
 * Returns all XIDs since the boot: those in the kernel log, and earlier fatal ones that it no longer has. The log is a ring
 * buffer of some hundred KiB, and each container writes a dozen lines. Pure.
 */
export function xidsSinceBoot(
  { events, repairs = [] }: Pick<XidMemory, 'events' | 'repairs'>,
  kernelLog: string,
): readonly XidEvent[] {
  const inLog = unrepaired(readXids(kernelLog), repairs);
  return [...events.filter((event) => !inLog.some((other) => isSame(event, other))), ...inLog];
}

/** Returns the other events since the boot: those in the kernel log, and earlier ones that it no longer has. Pure. */
export function eventsSinceBoot(
  { others = [], repairs = [] }: Pick<XidMemory, 'others' | 'repairs'>,
  kernelLog: string,
): readonly KernelEvent[] {
  const inLog = unrepaired(readKernelEvents(kernelLog), repairs);
  return [...others.filter((event) => !inLog.some((other) => isSameEvent(event, other))), ...inLog];
}

/** Returns the other events to keep: one of each kind and part. Pure. */
export function keptEvents(events: readonly KernelEvent[]): readonly KernelEvent[] {
  return events
    .filter(isWorthKeeping)
    .filter((event, at, all) => all.findIndex((other) => isSameEvent(event, other)) === at)
    .slice(0, mostKept);
}

/** More parts than a host has. */
const mostKept = 100;

function isSameEvent(a: KernelEvent, b: KernelEvent): boolean {
  return a.code === b.code && a.on === b.on;
}

/** Returns the memory after the repair of a GPU, or `all`. `now`: seconds since the boot. Pure. */
export function withRepair(memory: XidMemory, gpu: string, now: number): XidMemory {
  const isRepaired = (address: string): boolean => gpu === 'all' || gpu === address;
  const others = (memory.repairs ?? []).filter((repair) => !isRepaired(repair.gpu));
  return {
    ...memory,
    events: memory.events.filter((event) => !isRepaired(event.gpu)),
    others: (memory.others ?? []).filter((event) => gpu !== 'all' && event.gpu !== gpu),
    repairs: [...others, { gpu, at: now }],
  };
}

/** Returns the XIDs to keep: one of each number per GPU. Pure. */
export function fatalXids(xids: readonly XidEvent[]): readonly XidEvent[] {
  return xids
    .filter(isFatal)
    .filter((event, at, all) => all.findIndex((other) => isSame(event, other)) === at);
}

function isSame(a: XidEvent, b: XidEvent): boolean {
  return xidKey(a) === xidKey(b);
}

/** PCI addresses in the order of the slots, and the boot in which it was decided. */
export interface GpuOrder {
  readonly boot: string;
  readonly addresses: readonly string[];
}

/** Removes GPUs that the configuration ignores. */
export function withoutIgnored(
  order: GpuOrder | undefined,
  ignored: readonly string[],
): GpuOrder | undefined {
  return order && { ...order, addresses: order.addresses.filter((address) => !ignored.includes(address)) };
}

/**
 * Returns the order of the GPUs. A GPU that falls off the bus must not move the others to other slots: within one boot a
 * missing address keeps its place. A reboot starts a new order, unless the inventory has more GPUs than are present.
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
