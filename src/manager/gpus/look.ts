import { timestamp, type Clock } from '../../base/machine/clock.ts';
import type { HostRoot } from '../../base/machine/host-root.ts';
import { conclude, examine, examineWithoutGpus, type Checkup } from '../../health/checkup.ts';
import { smiScript } from '../../health/smi-script.ts';
import type { Finding } from '../../health/verdict.ts';
import type { XidEvent } from '../../health/xid/xid.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';
import { pciGpus } from './pci.ts';
import { xidsSinceBoot, type XidMemory } from './remembered.ts';

const logDeadlineMs = 10_000;
const modprobeDeadlineMs = 10_000;

/** Between two looks, unscaled milliseconds. */
export const lookEveryMs = 20_000;
/** A look that takes longer makes what is known of the GPUs old; a faster clock makes no faster processors. */
const lookTakesMs = 10_000;

export interface HostLook {
  /** PCI addresses of the GPUs, in bus order. */
  readonly pci: readonly string[];
  readonly checkup: Checkup;
  /** ISO 8601, for people. */
  readonly at: string;
  /** The same moment, monotonic: for its age. */
  readonly seenAt: number;
}

/** What was seen 30 s ago and more says too little about now to give a GPU to a job. */
export function isOld(
  { seenAt }: Pick<HostLook, 'seenAt'>,
  clock: Pick<Clock, 'monotonic' | 'scaled'>,
): boolean {
  return clock.monotonic() - seenAt > clock.scaled(lookEveryMs) + lookTakesMs;
}

/** One look at the host's GPUs: PCI, nvidia-smi, the kernel log since boot. Takes no part of any GPU. */
export async function lookAtHost(options: {
  readonly root: HostRoot;
  /** Promised by the inventory. */
  readonly gpus: number | undefined;
  /** For nvidia-smi, in real milliseconds. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly command: RunCommand;
  /** Fatal ones that earlier looks have seen since the boot. */
  readonly known: Pick<XidMemory, 'events' | 'repairs'>;
}): Promise<HostLook & { readonly smi?: CommandResult; readonly xids: readonly XidEvent[] }> {
  const pci = await pciGpus(options.root);
  const when = () => whenOf(options.clock);
  if (pci.length === 0) return { pci, checkup: examineWithoutGpus(options.gpus), ...when(), xids: [] };
  const [smi, log] = await Promise.all([
    options.command('sh', ['-c', smiScript(pci)], options.deadlineMs),
    options.command('dmesg', [], logDeadlineMs),
  ]);
  const xids = xidsSinceBoot(options.known, log.code === 0 ? log.output : '');
  const checkup = examine(smi, 'host', {
    pci,
    ...(options.gpus === undefined ? {} : { gpus: options.gpus }),
    xids,
  });
  // After a boot nobody else does: nvidia-smi makes the other device files, and the next container would want it.
  if (checkup.findings.some(({ code }) => code === 'driver.no-uvm'))
    await options.command('nvidia-modprobe', ['-u', '-c=0'], modprobeDeadlineMs);
  if (log.code === 0) return { pci, checkup, ...when(), smi, xids };
  return { pci, checkup: conclude([...checkup.findings, noKernelLog], checkup.report), ...when(), smi, xids };
}

/** When a look was taken: for people, and for its age. */
export function whenOf(clock: Clock): Pick<HostLook, 'at' | 'seenAt'> {
  return { at: timestamp(clock), seenAt: clock.monotonic() };
}

const noKernelLog: Finding = {
  code: 'host.no-kernel-log',
  severity: 'info',
  what: 'the kernel log cannot be read, so GPU errors in it go unseen',
  next: 'check that dmesg works on the host',
};

/** What a host under load may show once without being ill. */
const needsSecondLook = new Set(['smi.hung', 'smi.unreadable']);

/** The checkup with such findings weakened to warnings until the look before has shown them, too. Pure. */
export function confirmed(now: Checkup, before: readonly Finding[]): Checkup {
  const findings = now.findings.map((finding) => {
    const doubtful = finding.severity === 'fail' && needsSecondLook.has(finding.code);
    return doubtful && !before.some(({ code }) => code === finding.code)
      ? { ...finding, severity: 'warn' as const }
      : finding;
  });
  return conclude(findings, now.report);
}
