import { foreignLine } from '../base/foreign-text.ts';
import { findingEntry } from '../base/codes/tables.ts';
import { defined } from '../base/objects.ts';
import { finding } from './findings.ts';
import { normalizeBusId } from './gpu.ts';
import type { SmiReport } from './smi-report.ts';
import type { Finding } from './verdict.ts';
import { kernelMessage } from './xid.ts';

type KernelCode =
  | 'gpu.init-failed'
  | 'host.memory-corrected'
  | 'host.memory-uncorrected'
  | 'host.read-only'
  | 'nvswitch.sxid'
  | 'nvswitch.sxid-fatal';

/** A line of the kernel log about a part of the host, other than an XID. */
export interface KernelEvent {
  readonly code: KernelCode;
  /** PCI address of the GPU that it is about. */
  readonly gpu?: string;
  /** What it is about, in words. */
  readonly on: string;
  /** What the line says of it. */
  readonly text: string;
  /** Seconds since the boot by the kernel's clock; absent where the log has no times. */
  readonly at?: number;
}

const address = String.raw`(?:PCI:)?(?<on>[\da-fA-F:.]{7,16})`;

/** Messages from their start, as in the sources of Linux 6.12 and NVIDIA's open modules; the first match decides. */
const patterns: readonly (readonly [KernelCode, RegExp])[] = [
  [
    'gpu.init-failed',
    new RegExp(String.raw`^NVRM: GPU (?:at )?${address}: RmInitAdapter failed!(?<text>.*)`),
  ],
  [
    'nvswitch.sxid-fatal',
    new RegExp(String.raw`^nvidia-nvswitch\d+: SXid \(${address}\): (?<text>\d+, Fatal, .*)`),
  ],
  [
    'nvswitch.sxid',
    new RegExp(String.raw`^nvidia-nvswitch\d+: SXid \(${address}\): (?<text>\d+, Non-fatal, .*)`),
  ],
  ['host.read-only', /^EXT4-fs \((?<on>[^()]+)\): (?<text>Remounting filesystem read-only)/],
  ['host.read-only', /^XFS \((?<on>[^()]+)\): (?<text>.*(?:Shutting down filesystem|has been shut down).*)/],
  ['host.read-only', /^BTRFS[^(]*\(device (?<on>[^\s()]+)[^()]*\).*?(?<text>forced readonly)/],
  ['host.memory-uncorrected', /^EDAC (?<on>MC\d+): (?<text>\d+ UE .*)/],
  ['host.memory-uncorrected', /^(?<on>Memory failure): (?<text>0x[\da-f]+: .*)/],
  [
    'host.memory-uncorrected',
    /^mce: \[Hardware Error\]: (?<on>CPU \d+): (?<text>Machine Check Exception: .*)/,
  ],
  [
    'host.memory-uncorrected',
    /^(?:\{\d+\})?(?<on>\[Hardware Error\]): (?<text>event severity: (?:fatal|recoverable))/,
  ],
  ['host.memory-corrected', /^EDAC (?<on>MC\d+): (?<text>\d+ CE .*)/],
];

/** Characters kept of a line. */
const longestText = 200;

/** Returns the events in kernel log text of `dmesg`, oldest first. */
export function readKernelEvents(kernelLog: string): readonly KernelEvent[] {
  return kernelLog.split('\n').flatMap((line) => {
    const { message, at } = kernelMessage(line);
    const event = readKernelEvent(message);
    return event === undefined ? [] : { ...event, ...defined({ at }) };
  });
}

/** Returns the event of a message of the kernel: a line of its log without the prefix. */
export function readKernelEvent(message: string): KernelEvent | undefined {
  for (const [code, pattern] of patterns) {
    const { on = '', text = '' } = pattern.exec(message)?.groups ?? {};
    if (on === '') continue;
    const isAddress = code === 'gpu.init-failed' || code.startsWith('nvswitch.');
    const named = foreignLine(isAddress ? normalizeBusId(on) : on, longestText);
    const gpu = code === 'gpu.init-failed' ? named : undefined;
    return { code, on: named, ...defined({ gpu }), text: foreignLine(text, longestText).trim() };
  }
  return undefined;
}

const said: Readonly<Record<KernelCode, (event: KernelEvent) => string>> = {
  'gpu.init-failed': ({ text }) => `the driver could not initialize it ${text}`.trim(),
  'nvswitch.sxid-fatal': ({ on, text }) => `NVSwitch ${on} reported SXid ${text}`,
  'nvswitch.sxid': ({ on, text }) => `NVSwitch ${on} reported SXid ${text}`,
  'host.read-only': ({ on, text }) => `the file system on ${on} has failed and cannot be written: ${text}`,
  'host.memory-uncorrected': ({ on, text }) =>
    `the host’s memory or a CPU had an error that was not corrected: ${on}: ${text}`,
  'host.memory-corrected': ({ on, text }) =>
    `the host’s memory had an error that was corrected: ${on}: ${text}`,
};

/** True for a finding that the kernel log has, XIDs included. */
export function isOfKernelLog({ code }: Pick<Finding, 'code'>): boolean {
  return code.startsWith('xid.') || Object.hasOwn(said, code);
}

/** True for an event whose finding must not end with the line in the log; false for codes of another version. */
export function isWorthKeeping({ code }: KernelEvent): boolean {
  return Object.hasOwn(said, code) && findingEntry(code)?.severity !== 'info';
}

/** More parts than a host has. */
const mostFindings = 100;

/**
 * Returns one finding for each part and code: its last event, with the count. A GPU that nvidia-smi lists was initialized
 * later.
 */
export function checkKernelEvents(
  events: readonly KernelEvent[],
  report: SmiReport | undefined,
): readonly Finding[] {
  const groups = Map.groupBy(events, ({ code, on }) => `${code} ${on}`);
  return [...groups.values()].slice(0, mostFindings).flatMap((group) => {
    const last = group.at(-1);
    if (last === undefined || report?.gpus.some(({ busId }) => busId === last.gpu) === true) return [];
    const times = group.length > 1 ? ` (${group.length} times)` : '';
    return [finding(last.code, `${said[last.code](last)}${times}`, defined({ gpu: last.gpu }))];
  });
}
