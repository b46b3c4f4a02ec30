import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { HostRoot } from '../../shared/base/host-root.ts';
import { isIgnored } from '../../shared/contract/gpus.ts';
import { askSmi, type SmiRun } from '../../shared/health/smi-run.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';
import { type Clock, timestamp, unscaled } from '../../shared/base/clock.ts';
import { type Checkup, conclude, examine, examineWithoutGpus } from '../../shared/health/checkup.ts';
import type { Finding } from '../../shared/health/verdict.ts';
import { isFatal, readXids, type XidEvent } from '../../shared/health/xid.ts';
import { type XidMemory, xidsSinceBoot } from './remembered.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/** PCI addresses, in bus order. */
interface PciGpus {
  readonly served: readonly string[];
  /** For screens, as the configuration says. */
  readonly ignored: readonly string[];
}

/** The NVIDIA GPUs, those passed through to virtual machines left out. */
export async function pciGpus({ prefix }: HostRoot, ignore: readonly string[] = []): Promise<PciGpus> {
  const root = `${prefix}/sys/bus/pci/devices`;
  const addresses: string[] = await readdir(root).catch(() => []);
  const found = await Promise.all(
    addresses.sort().map(async (address) => {
      const deviceId = await gpuAt(join(root, address));
      return deviceId === undefined ? [] : [{ address, deviceId }];
    }),
  );
  const { served = [], ignored = [] } = Object.groupBy(found.flat(), (gpu) =>
    isIgnored(gpu, ignore) ? 'ignored' : 'served',
  );
  return { served: served.map(addressOf), ignored: ignored.map(addressOf) };
}

function addressOf({ address }: { readonly address: string }): string {
  return address;
}

/** Its device id, `2335`. Undefined: it is none. */
async function gpuAt(device: string): Promise<string | undefined> {
  const read = async (name: string): Promise<string> =>
    (await readFile(join(device, name), 'utf8').catch(() => '')).trim();
  if ((await read('vendor')) !== '0x10de') return undefined;
  const kind = await read('class');
  // VGA and 3D controllers.
  if (!kind.startsWith('0x0300') && !kind.startsWith('0x0302')) return undefined;
  const driver = await readlink(join(device, 'driver')).catch(() => '');
  return basename(driver) === 'vfio-pci' ? undefined : (await read('device')).replace('0x', '').toLowerCase();
}

/**
 * Runs programs that ask the NVIDIA driver, one after the other. One that hangs in the kernel cannot be ended, and
 * another one would hang beside it: while it is there, whoever asks is answered as it was, and nothing is started.
 */
export class DriverPrograms {
  readonly #command: RunCommand;
  #hanging: { readonly program: string; readonly result: CommandResult } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** The program that hangs now. */
  get hanging(): string | undefined {
    if (this.#hanging?.result.stillRunning() !== true) this.#hanging = undefined;
    return this.#hanging?.program;
  }

  /** `named`: what is run, where the program is a shell. */
  run(
    program: string,
    args: readonly string[],
    deadlineMs: number,
    named = program,
  ): Promise<CommandResult & Pick<SmiRun, 'program'>> {
    const mine = this.#last.then(() => this.#runNow(program, args, deadlineMs, named));
    this.#last = mine.catch(() => undefined);
    return mine;
  }

  async #runNow(program: string, args: readonly string[], deadlineMs: number, named: string) {
    const { hanging } = this;
    if (this.#hanging !== undefined && hanging !== undefined)
      return { ...this.#hanging.result, program: hanging };
    const result = await this.#command(program, args, deadlineMs);
    if (result.timedOut) this.#hanging = { program: named, result };
    return { ...result, program: named };
  }
}

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

/** Real milliseconds. */
const againMs = 60_000;

/**
 * Arguments of `sh` that follow the kernel log. Without its device, dmesg would print the whole old log instead of
 * what is new, and end.
 */
export function followNew({ prefix }: HostRoot): readonly string[] {
  const device = `${prefix}/dev/kmsg`;
  return ['-c', '[ -r "$0" ] || { echo "$0 cannot be read" >&2; exit 1; }; exec dmesg --follow-new', device];
}

/**
 * Follows the kernel log and tells at once when the driver reports an error there after which a GPU must not take
 * jobs. What it misses, while it is away or where there is no /dev/kmsg, the next look finds.
 */
export async function watchKernelLog(
  tools: Pick<ManagerDeps, 'root' | 'follow' | 'clock' | 'log' | 'signal'>,
  onFatal: () => void,
): Promise<void> {
  const { root, follow, clock, log, signal } = tools;
  let complained = false;
  while (!signal.aborted) {
    if ((await pciGpus(root)).served.length > 0) {
      const tell = (line: string): void => {
        if (readXids(line).some(isFatal)) onFatal();
      };
      const { complaint } = await follow('sh', followNew(root), tell, signal);
      if (!signal.aborted && !complained) {
        complained = true;
        log.log('info', 'the kernel log cannot be followed; it is read at each look', { seen: complaint });
      }
    }
    await clock.wait(unscaled(clock, againMs), signal);
  }
}
