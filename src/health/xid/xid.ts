import { foreignLine } from '../../base/foreign-text.ts';
import { normalizeBusId } from '../bus-id.ts';
import table from './xid-table.json' with { type: 'json' };

/** One error report of the GPU driver in the kernel log. */
export interface XidEvent {
  readonly xid: number;
  /** PCI address, `0000:9b:00.0`. */
  readonly gpu: string;
  /** What follows the number, e.g. `GPU has fallen off the bus.` */
  readonly text: string;
}

/** What has to be done about an XID, from least to most. */
export type XidClass =
  | 'info'
  | 'watch'
  | 'config'
  | 'reset-when-idle'
  | 'recovery-action'
  | 'support'
  | 'reset'
  | 'reboot'
  | 'hardware';

const xidLine = /NVRM: Xid \((?:PCI:)?([\da-fA-F:.]+)\).*?: (\d+), ?(.*)$/;
const offTheBus = /NVRM: GPU (?:at PCI:)?([\da-fA-F:.]+): GPU has fallen off the bus/;
const repaired = /azp-fleet: gpu repaired (\S+)/;

/**
 * XIDs in kernel log text, oldest first. Give it the log since boot. A line `azp-fleet: gpu repaired ADDRESS` (or
 * `all`), which root writes to /dev/kmsg after a reset or a replacement, takes back what came before it, `earlier`
 * events included.
 */
export function readXids(kernelLog: string, earlier: readonly XidEvent[] = []): readonly XidEvent[] {
  let events = [...earlier];
  for (const line of kernelLog.split('\n')) {
    const mark = repaired.exec(line)?.[1];
    if (mark !== undefined) {
      events = mark === 'all' ? [] : events.filter(({ gpu }) => gpu !== normalizeBusId(mark));
      continue;
    }
    const [, address, xid, text = ''] = xidLine.exec(line) ?? [];
    const lost = offTheBus.exec(line)?.[1];
    if (address !== undefined)
      events.push({ xid: Number(xid), gpu: normalizeBusId(address), text: foreignLine(text).trim() });
    else if (lost !== undefined) {
      events.push({ xid: 79, gpu: normalizeBusId(lost), text: 'GPU has fallen off the bus.' });
    }
  }
  return events;
}

/** An unknown number is worth watching, no more. */
export function classifyXid(xid: number): { readonly class: XidClass; readonly what: string } {
  return classes.get(xid) ?? { class: 'watch', what: 'an error this version does not know' };
}

const classes = new Map(
  table.flatMap((row) =>
    expand(row.xids).map((xid) => [xid, { class: row.class as XidClass, what: row.what }] as const),
  ),
);

function expand(ranges: string): readonly number[] {
  return ranges.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
  });
}
