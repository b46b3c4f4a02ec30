import { foreignLine } from '../base/foreign-text.ts';
import { defined } from '../base/objects.ts';
import { type GpuPart, normalizeBusId } from './gpu.ts';
import table from './xid-table.json' with { type: 'json' };
import type { Finding } from './verdict.ts';

/** One error report of the GPU driver in the kernel log. */
export interface XidEvent {
  readonly xid: number;
  /** PCI address, `0000:9b:00.0`. */
  readonly gpu: string;
  /** The MIG instance that the line names. */
  readonly part?: GpuPart;
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
const whole = new RegExp(`${prefix}(?<message>[^]*)$`);
const address = String.raw`(?:PCI:)?(?<gpu>[\da-fA-F:.]+)`;
const part = String.raw`(?: GPU-I:(?<instance>\d{1,3})(?: GPU-CI:(?<compute>\d{1,3}))?)?`;
const xidMessage = new RegExp(
  String.raw`^NVRM: Xid \(${address}${part}(?: [^()]*)?\): (?<xid>\d{1,6})(?:, ?(?<text>[^]*))?$`,
);
const offTheBus = new RegExp(String.raw`^NVRM: GPU (?:at )?${address}: GPU has fallen off the bus`);

/** Returns the XIDs in kernel log text of `dmesg`, oldest first. Give it the log since boot. */
export function readXids(kernelLog: string): readonly XidEvent[] {
  return kernelLog.split('\n').flatMap((line) => {
    const { message, at } = kernelMessage(line);
    const event = readXidMessage(message);
    return event === undefined ? [] : { ...event, ...defined({ at }) };
  });
}

/** Returns a line of the kernel log without its prefix, and the time in it. */
export function kernelMessage(line: string): { readonly message: string; readonly at: number | undefined } {
  const { message = '', at } = whole.exec(line)?.groups ?? {};
  return { message, at: at === undefined ? undefined : Number(at) };
}

/** Returns the XID of a message of the kernel: a line of its log without the prefix. */
export function readXidMessage(message: string): XidEvent | undefined {
  const found = xidMessage.exec(message)?.groups;
  const lost = found === undefined ? offTheBus.exec(message)?.groups : undefined;
  const { gpu, xid = '79', text = 'GPU has fallen off the bus.' } = found ?? lost ?? {};
  if (gpu === undefined) return undefined;
  return {
    xid: Number(xid),
    gpu: normalizeBusId(gpu),
    ...defined({ part: partOf(found) }),
    text: foreignLine(text).trim(),
  };
}

function partOf({ instance, compute }: Readonly<Record<string, string>> = {}): GpuPart | undefined {
  if (instance === undefined) return undefined;
  const computeInstance = compute === undefined ? undefined : Number(compute);
  return { gpuInstance: Number(instance), ...defined({ computeInstance }) };
}

/** A person reset or replaced a GPU, or all: earlier XIDs no longer count. */
export interface Repair {
  /** PCI address, or `all`. */
  readonly gpu: string;
  /** Seconds since the boot. */
  readonly at: number;
}

/** Returns the events after the last repair of their GPU. An event without a time counts as later. Pure. */
export function unrepaired<Event extends Pick<Partial<XidEvent>, 'gpu' | 'at'>>(
  events: readonly Event[],
  repairs: readonly Repair[],
): readonly Event[] {
  return events.filter(
    (event) =>
      !repairs.some(
        ({ gpu, at }) => (gpu === 'all' || gpu === event.gpu) && (event.at ?? Number.POSITIVE_INFINITY) <= at,
      ),
  );
}

/** What the table has about an XID. */
interface XidMeaning {
  readonly class: XidClass;
  /** `instance`: an error of one MIG instance. */
  readonly scope: 'board' | 'instance';
  readonly what: string;
}

/** Returns the meaning of an XID; an unknown number is `watch`. `text`: what its line has after the number. */
export function classifyXid(xid: number, text = ''): XidMeaning {
  const row = rows.get(xid);
  if (row === undefined)
    return { class: 'watch', scope: 'board', what: 'an error that this version does not know' };
  const { mnemonic, scope = 'board', what } = row;
  if (mnemonic !== undefined && new RegExp(String.raw`^${mnemonic}\w* +Nonfatal\b`).test(text))
    return { class: 'watch', scope, what: `${what} that was not fatal` };
  return { class: row.class as XidClass, scope, what };
}

interface XidRow {
  readonly xids: string;
  readonly class: string;
  readonly scope?: 'board' | 'instance';
  /** The error is `watch` where its text has this mnemonic and `Nonfatal`. */
  readonly mnemonic?: string;
  readonly what: string;
}

const rows = new Map(
  (table as readonly XidRow[]).flatMap((row) => expand(row.xids).map((xid) => [xid, row] as const)),
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

function severityOf({ xid, text }: XidEvent): Finding['severity'] {
  return actions[classifyXid(xid, text).class].severity;
}

/** True for an XID after which the GPU must not run jobs until it is repaired. */
export function isFatal(event: XidEvent): boolean {
  return severityOf(event) === 'fail';
}

/** Returns a key that equal errors of a GPU share: an error that was not fatal never stands for a fatal one. */
export function xidKey(event: XidEvent): string {
  return `${event.gpu} ${event.xid} ${severityOf(event)}`;
}

/**
 * Returns one finding for each GPU and XID: its worst event, with the count of those. `nameOf` turns a PCI address, or an
 * instance of the GPU there, into the name in findings.
 */
export function checkXids(
  events: readonly XidEvent[],
  nameOf: (busId: string, part?: GpuPart) => string,
): readonly Finding[] {
  const named = events.map((event) => {
    const { scope } = classifyXid(event.xid, event.text);
    return { event, gpu: scope === 'instance' ? nameOf(event.gpu, event.part) : nameOf(event.gpu) };
  });
  const groups = Map.groupBy(named, ({ event, gpu }) => `${gpu} ${event.xid}`);
  return [...groups.values()].flatMap((group) => {
    const same = Map.groupBy(group, ({ event }) => severityOf(event));
    const worst = same.get('fail') ?? same.get('warn') ?? group;
    const last = worst.at(-1);
    if (last === undefined) return [];
    const { event, gpu } = last;
    const { class: kind, what } = classifyXid(event.xid, event.text);
    const times = worst.length > 1 ? `, ${worst.length} times` : '';
    return [
      {
        code: `xid.${event.xid}`,
        gpu,
        severity: actions[kind].severity,
        what: `XID ${event.xid} in the kernel log${times}: ${what}`,
        next: actions[kind].next.replaceAll('{gpu}', event.gpu),
      },
    ];
  });
}
