import { foreignLine } from '../base/foreign-text.ts';
import { normalizeBusId } from './gpu.ts';
import table from './xid-table.json' with { type: 'json' };
import type { Finding } from './verdict.ts';

/** One error report of the GPU driver in the kernel log. */
export interface XidEvent {
  readonly xid: number;
  /** PCI address, `0000:9b:00.0`. */
  readonly gpu: string;
  /** What follows the number, e.g. `GPU has fallen off the bus.` */
  readonly text: string;
  /** Seconds since the boot by the kernel's clock; absent where the log has no times. */
  readonly at?: number;
}

/** The action that an XID needs, from least to most. */
type XidClass =
  | 'info'
  | 'watch'
  | 'config'
  | 'reset-when-idle'
  | 'recovery-action'
  | 'support'
  | 'reset'
  | 'reboot'
  | 'hardware';

/**
 * The prefix of a line in dmesg and in the journal. Patterns match only from the start of a line: processes choose their
 * names, and the kernel writes those into its lines, with line breaks of every kind.
 */
const prefix = String.raw`^(?:<\d+>)?(?:(?:\d{4}-\d\d-\d\dT\S+|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?:\S+ )?kernel: )?(?:\[ *(?<at>\d+\.\d+)\](?:\[ *[TC]\d+\])? )?`;
const strict = new RegExp(`${prefix}(?<message>NVRM: [^]*)$`);
const address = String.raw`(?:PCI:)?(?<gpu>[\da-fA-F:.]+)`;
const xidMessage = new RegExp(
  String.raw`^NVRM: Xid \(${address}(?: [^()]*)?\): (?<xid>\d{1,6})(?:, ?(?<text>[^]*))?$`,
);
const offTheBus = new RegExp(String.raw`^NVRM: GPU (?:at )?${address}: GPU has fallen off the bus`);

/** Returns the XIDs in kernel log text of `dmesg`, oldest first. Give it the log since boot. */
export function readXids(kernelLog: string): readonly XidEvent[] {
  return kernelLog.split('\n').flatMap((line) => {
    const { message = '', at } = strict.exec(line)?.groups ?? {};
    const event = readXidMessage(message);
    if (event === undefined) return [];
    return at === undefined ? event : { ...event, at: Number(at) };
  });
}

/** Returns the XID of a message of the kernel: a line of its log without the prefix. */
export function readXidMessage(message: string): XidEvent | undefined {
  const found = xidMessage.exec(message)?.groups;
  const lost = found === undefined ? offTheBus.exec(message)?.groups : undefined;
  const { gpu, xid = '79', text = 'GPU has fallen off the bus.' } = found ?? lost ?? {};
  if (gpu === undefined) return undefined;
  return { xid: Number(xid), gpu: normalizeBusId(gpu), text: foreignLine(text).trim() };
}

/** A person reset or replaced a GPU, or all: earlier XIDs no longer count. */
export interface Repair {
  /** PCI address, or `all`. */
  readonly gpu: string;
  /** Seconds since the boot. */
  readonly at: number;
}

/** Returns the events after the last repair of their GPU. An event without a time counts as later. Pure. */
export function unrepaired(events: readonly XidEvent[], repairs: readonly Repair[]): readonly XidEvent[] {
  return events.filter(
    (event) =>
      !repairs.some(
        ({ gpu, at }) => (gpu === 'all' || gpu === event.gpu) && (event.at ?? Number.POSITIVE_INFINITY) <= at,
      ),
  );
}

/** Returns the class of an XID; an unknown number is `watch`. */
export function classifyXid(xid: number): { readonly class: XidClass; readonly what: string } {
  return classes.get(xid) ?? { class: 'watch', what: 'an error that this version does not know' };
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

const repairedHint = '; afterwards: azp-fleet repaired HOST --gpu {gpu}';

const actions: Readonly<Record<XidClass, { readonly severity: Finding['severity']; readonly next: string }>> =
  {
    info: { severity: 'info', next: 'check the jobs that ran if it comes often' },
    watch: {
      severity: 'warn',
      next: `watch it; if it comes again, drain the host and reset the GPU${repairedHint}`,
    },
    config: { severity: 'warn', next: 'check the vGPU configuration and its licence' },
    'reset-when-idle': {
      severity: 'warn',
      next: `reset it when idle: \`nvidia-smi --gpu-reset -i {gpu}\`${repairedHint}`,
    },
    'recovery-action': { severity: 'info', next: 'follow the recovery action that nvidia-smi shows' },
    support: {
      severity: 'fail',
      next: 'drain the host, run nvidia-bug-report.sh and ask NVIDIA or the vendor',
    },
    reset: {
      severity: 'fail',
      next: `drain it and reset it: \`nvidia-smi --gpu-reset -i {gpu}\`, or reboot${repairedHint}`,
    },
    reboot: {
      severity: 'fail',
      next: 'drain and reboot the host; if the fault returns, check the hardware',
    },
    hardware: { severity: 'fail', next: 'check the power cables and the card' },
  };

/** True for an XID after which the GPU must not run jobs until it is repaired. */
export function isFatal({ xid }: XidEvent): boolean {
  return actions[classifyXid(xid).class].severity === 'fail';
}

/** Returns one finding for each GPU and XID, with its count. `uuidOf` turns a PCI address into the name in findings. */
export function checkXids(
  events: readonly XidEvent[],
  uuidOf: (busId: string) => string,
): readonly Finding[] {
  const groups = Map.groupBy(events, ({ gpu, xid }) => `${gpu} ${xid}`);
  return [...groups.values()].flatMap((group) => {
    const last = group.at(-1);
    if (last === undefined) return [];
    const { class: kind, what } = classifyXid(last.xid);
    const times = group.length > 1 ? `, ${group.length} times` : '';
    return [
      {
        code: `xid.${last.xid}`,
        gpu: uuidOf(last.gpu),
        severity: actions[kind].severity,
        what: `XID ${last.xid} in the kernel log${times}: ${what}`,
        next: actions[kind].next.replaceAll('{gpu}', last.gpu),
      },
    ];
  });
}
