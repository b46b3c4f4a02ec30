import { isFatal } from '../health/xid-rules.ts';
import { readXids, type XidEvent } from '../health/xid.ts';

/** Fatal errors of GPUs since a boot. */
export interface XidMemory {
  readonly boot: string;
  readonly events: readonly XidEvent[];
}

/**
 * All XIDs since the boot: those in the kernel log, and the fatal ones seen earlier that it no longer has. The log is
 * a ring of some hundred KiB, and each container writes a dozen lines into it. Pure.
 */
export function xidsSinceBoot(fatal: readonly XidEvent[], kernelLog: string): readonly XidEvent[] {
  const inLog = readXids(kernelLog);
  return readXids(
    kernelLog,
    fatal.filter((event) => !inLog.some((other) => isSame(event, other))),
  );
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
