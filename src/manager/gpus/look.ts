import { type Clock, timestamp } from '../../shared/base/machine/clock.ts';
import type { HostRoot } from '../../shared/base/machine/host-root.ts';
import { type Checkup, conclude, examine, examineWithoutGpus } from '../../shared/health/checkup.ts';
import { askSmi } from '../../shared/health/smi-run.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import type { XidEvent } from '../../shared/health/xid.ts';
import type { RunCommand } from '../machine/command.ts';
import type { DriverPrograms } from './driver-programs.ts';
import { pciGpus } from './pci.ts';
import { type XidMemory, xidsSinceBoot } from './remembered.ts';

const logDeadlineMs = 10_000;
const modprobeDeadlineMs = 10_000;

/** Between two looks, unscaled milliseconds. */
export const lookEveryMs = 20_000;
/** A look that takes longer makes what is known of the GPUs old; a faster clock makes no faster processors. */
const lookTakesMs = 10_000;

export interface HostLook {
  /** PCI addresses of the GPUs, in bus order. */
  readonly pci: readonly string[];
  /** Of those for screens, of which nothing else is said. */
  readonly ignored: readonly string[];
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
  readonly ignore: readonly string[] | undefined;
  /** For nvidia-smi, in real milliseconds. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly command: RunCommand;
  readonly driver: DriverPrograms;
  /** Fatal ones that earlier looks have seen since the boot. */
  readonly known: Pick<XidMemory, 'events' | 'repairs'>;
}): Promise<HostLook & { readonly xids: readonly XidEvent[] }> {
  const { served: pci, ignored } = await pciGpus(options.root, options.ignore);
  const when = () => whenOf(options.clock);
  if (pci.length === 0)
    return { pci, ignored, checkup: examineWithoutGpus(options.gpus), ...when(), xids: [] };
  const [smi, log] = await Promise.all([
    askSmi(
      pci,
      (script) => options.driver.run('sh', ['-c', script], options.deadlineMs, 'nvidia-smi'),
      ignored,
    ),
    options.command('dmesg', [], logDeadlineMs),
  ]);
  const xids = xidsSinceBoot(options.known, log.code === 0 ? log.output : '').filter(
    ({ gpu }) => !ignored.includes(gpu),
  );
  const checkup = examine(smi, 'host', {
    pci,
    ignored,
    ...(options.gpus === undefined ? {} : { gpus: options.gpus }),
    xids,
  });
  // After a boot nobody else does: nvidia-smi makes the other device files, and the next container would want it.
  if (checkup.findings.some(({ code }) => code === 'driver.no-uvm'))
    await options.driver.run('nvidia-modprobe', ['-u', '-c=0'], modprobeDeadlineMs);
  if (log.code === 0) return { pci, ignored, checkup, ...when(), xids };
  return {
    pci,
    ignored,
    checkup: conclude([...checkup.findings, noKernelLog], checkup.report),
    ...when(),
    xids,
  };
}

/** When a look was taken: for people, and for its age. */
function whenOf(clock: Clock): Pick<HostLook, 'at' | 'seenAt'> {
  return { at: timestamp(clock), seenAt: clock.monotonic() };
}

const noKernelLog: Finding = {
  code: 'host.no-kernel-log',
  severity: 'info',
  what: 'the kernel log cannot be read, so GPU errors in it go unseen',
  next: 'check that dmesg works on the host',
};
