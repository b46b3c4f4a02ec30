import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { HostRoot } from '../../shared/base/host-root.ts';
import { isIgnored } from '../../shared/contract/gpus.ts';
import { askSmi, type SmiRun } from '../../shared/health/smi-run.ts';
import type { CommandResult, RunCommand } from '../machine/command.ts';
import { type Clock, timestamp, unscaled } from '../../shared/base/clock.ts';
import { type Checkup, conclude, examine, examineWithoutGpus } from '../../shared/health/checkup.ts';
import { finding } from '../../shared/health/findings.ts';
import type { KernelEvent } from '../../shared/health/kernel-events.ts';
import { isFatal, readXids, type XidEvent } from '../../shared/health/xid.ts';
import { eventsSinceBoot, type XidMemory, xidsSinceBoot } from './remembered.ts';
import type { ManagerDeps } from '../manager-deps.ts';

/** PCI addresses, in bus order. */
interface PciGpus {
  readonly served: readonly string[];
  /** GPUs for screens, by the configuration. */
  readonly ignored: readonly string[];
}

/** Lists the NVIDIA GPUs without those passed through to virtual machines. */
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

/** Returns the device id of a GPU, `2335`; undefined: the device is no GPU. */
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
 * Runs programs that query the NVIDIA driver, one after the other. A program that hangs in the kernel cannot be killed, and
 * another would hang, too: while it exists, every call returns its result, and no program is started.
 */
export class DriverPrograms {
  readonly #command: RunCommand;
  #hanging: { readonly program: string; readonly result: CommandResult } | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(command: RunCommand) {
    this.#command = command;
  }

  /** The program that hangs. */
  get hanging(): string | undefined {
    if (this.#hanging?.result.stillRunning() !== true) this.#hanging = undefined;
    return this.#hanging?.program;
  }

  /** Runs a program. `named`: its name, where the program is a shell. */
  run(
    program: string,
    args: readonly string[],
    deadlineMs: number,
    named = program,
  ): Promise<CommandResult & Pick<SmiRun, 'program'>> {
    const result = this.#last.then(() => this.#runNow(program, args, deadlineMs, named));
    this.#last = result.catch(() => undefined);
    return result;
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

/** Interval of the checks, unscaled milliseconds. */
export const checkEveryMs = 20_000;
/** Real milliseconds that a check may take before the last result is stale. */
const checkTakesMs = 10_000;

export interface HostCheck {
  /** PCI addresses of the GPUs, in bus order. */
  readonly pci: readonly string[];
  /** PCI addresses of GPUs for screens, to which no rule applies. */
  readonly ignored: readonly string[];
  readonly checkup: Checkup;
  /** ISO 8601, for people. */
  readonly at: string;
  /** The same time, monotonic, for its age. */
  readonly seenAt: number;
}

/** True for a result of more than 30 s ago, which is too old to start a job. */
export function isStale(
  { seenAt }: Pick<HostCheck, 'seenAt'>,
  clock: Pick<Clock, 'monotonic' | 'scaled'>,
): boolean {
  return clock.monotonic() - seenAt > clock.scaled(checkEveryMs) + checkTakesMs;
}

/** Checks the host's GPUs: PCI, nvidia-smi, the kernel log since boot. Allocates no GPU memory. */
export async function checkHost(options: {
  readonly root: HostRoot;
  /** Number of GPUs in the inventory. */
  readonly gpus: number | undefined;
  readonly ignore: readonly string[] | undefined;
  /** For nvidia-smi, in real milliseconds. */
  readonly deadlineMs: number;
  readonly clock: Clock;
  readonly command: RunCommand;
  readonly driver: DriverPrograms;
  /** Fatal XIDs from earlier checks since the boot. */
  readonly known: Pick<XidMemory, 'events' | 'repairs' | 'others'>;
}): Promise<HostCheck & { readonly xids: readonly XidEvent[]; readonly events: readonly KernelEvent[] }> {
  const { served: pci, ignored } = await pciGpus(options.root, options.ignore);
  const when = () => whenOf(options.clock);
  if (pci.length === 0)
    return { pci, ignored, checkup: examineWithoutGpus(options.gpus), ...when(), xids: [], events: [] };
  const [smi, log] = await Promise.all([
    askSmi(
      pci,
      (script) => options.driver.run('sh', ['-c', script], options.deadlineMs, 'nvidia-smi'),
      ignored,
    ),
    options.command('dmesg', [], logDeadlineMs),
  ]);
  const kernelLog = log.code === 0 ? log.output : '';
  const xids = xidsSinceBoot(options.known, kernelLog).filter(({ gpu }) => !ignored.includes(gpu));
  const events = eventsSinceBoot(options.known, kernelLog).filter(
    ({ gpu }) => gpu === undefined || pci.includes(gpu),
  );
  const checkup = examine(smi, 'host', {
    pci,
    ignored,
    ...(options.gpus === undefined ? {} : { gpus: options.gpus }),
    xids,
    events,
  });
  // After a boot no other program creates it: nvidia-smi creates only the other device files, and containers need it.
  if (checkup.findings.some(({ code }) => code === 'driver.no-uvm'))
    await options.driver.run('nvidia-modprobe', ['-u', '-c=0'], modprobeDeadlineMs);
  if (log.code === 0) return { pci, ignored, checkup, ...when(), xids, events };
  return {
    pci,
    ignored,
    checkup: conclude([...checkup.findings, finding('host.no-kernel-log')], checkup.report),
    ...when(),
    xids,
    events,
  };
}

/** Returns the time of a check, for people and for its age. */
function whenOf(clock: Clock): Pick<HostCheck, 'at' | 'seenAt'> {
  return { at: timestamp(clock), seenAt: clock.monotonic() };
}

/** Pause before the log is followed again, real milliseconds. */
const retryMs = 60_000;

/**
 * Returns arguments of `sh` that follow the kernel log. Without the device, dmesg would print the old log and exit.
 */
export function followNew({ prefix }: HostRoot): readonly string[] {
  const device = `${prefix}/dev/kmsg`;
  return ['-c', '[ -r "$0" ] || { echo "$0 cannot be read" >&2; exit 1; }; exec dmesg --follow-new', device];
}

/**
 * Follows the kernel log and calls `onFatal` for an XID after which a GPU must not run jobs. The next check finds errors that
 * it misses, between two runs or without /dev/kmsg.
 */
export async function watchKernelLog(
  tools: Pick<ManagerDeps, 'root' | 'follow' | 'clock' | 'log' | 'signal'>,
  onFatal: () => void,
): Promise<void> {
  const { root, follow, clock, log, signal } = tools;
  let isLogged = false;
  while (!signal.aborted) {
    if ((await pciGpus(root)).served.length > 0) {
      const read = (line: string): void => {
        if (readXids(line).some(isFatal)) onFatal();
      };
      const { complaint } = await follow('sh', followNew(root), read, signal);
      if (!signal.aborted && !isLogged) {
        isLogged = true;
        log.log('info', 'the kernel log cannot be followed; it is read at each check', { seen: complaint });
      }
    }
    await clock.wait(unscaled(clock, retryMs), signal);
  }
}
