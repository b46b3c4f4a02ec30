import type { HealthCode } from '../base/codes/code.ts';
import { normalizeBusId } from './gpu.ts';
import type { SmiRun } from './smi-run.ts';
import { aroundReport } from './smi-sections.ts';
import type { Finding } from './verdict.ts';

export type Where = 'host' | 'container';

interface Cause {
  readonly code: HealthCode;
  readonly severity?: 'warn';
  /** The exit code with this meaning; texts are compared first. */
  readonly exit?: number;
  readonly text?: RegExp;
  readonly where?: Where;
  readonly what: string;
  readonly next: string;
}

const reboot = 'reboot the host; if the fault returns, check the hardware';

/**
 * Meanings of a failed nvidia-smi. Exit codes are from its manual ("RETURN VALUE"; 18 is NVML's own number, seen in the
 * field), texts from users' reports. The first match decides; the most specific come first.
 */
const causes: readonly Cause[] = [
  {
    code: 'driver.mismatch',
    exit: 18,
    text: /Driver\/library version mismatch/i,
    what: 'the loaded kernel module and the driver libraries have different versions',
    next: 'reboot the host, or run `azp-fleet provision`, which reloads the modules',
  },
  {
    code: 'gpu.lost',
    exit: 15,
    text: /GPU is lost|fallen off the bus/i,
    what: 'a GPU has fallen off the PCI bus',
    next: reboot,
  },
  {
    code: 'gpu.unreachable',
    text: /Unable to determine the device handle for GPU/i,
    what: 'the driver cannot reach a GPU, and nvidia-smi lists none because of it',
    next: reboot,
  },
  {
    code: 'container.gpu-access',
    text: /Failed to initialize NVML: Unknown Error/i,
    where: 'container',
    what: 'the container cannot open the GPU devices',
    next: 'recreate the container; if a new one fails, too, check for no-cgroups=true in /etc/nvidia-container-runtime/config.toml',
  },
  {
    code: 'container.permission',
    text: /Failed to initialize NVML: Insufficient Permissions/i,
    where: 'container',
    what: 'the container is denied the GPU devices, as SELinux does',
    next: 'run `setsebool container_use_devices on`, or use label=disable',
  },
  {
    code: 'gpu.none-found',
    exit: 6,
    text: /No devices were found|No supported GPUs were found/i,
    what: 'the driver is loaded and finds no GPU that it can use',
    next: 'install the open kernel modules for Blackwell GPUs, the proprietary ones of branch 580 for GPUs before Turing; then check `journalctl -k | grep NVRM`',
  },
  {
    code: 'driver.not-loaded',
    exit: 9,
    text: /couldn't communicate with the NVIDIA driver|driver is not loaded|Driver Not Loaded/i,
    what: 'the NVIDIA kernel module is not loaded',
    next: 'run `azp-fleet provision`; if the driver is installed, check `dkms status` and `journalctl -k | grep -i nvidia` (Secure Boot, kernel update)',
  },
  {
    code: 'container.no-uvm',
    text: /azp-fleet: no \/dev\/nvidia-uvm/,
    where: 'container',
    what: 'the container has no /dev/nvidia-uvm: CUDA fails with error 999',
    next: 'run `modprobe nvidia_uvm` on the host, then `systemctl restart nvidia-cdi-refresh.service`',
  },
  {
    // The toolkit's hook creates it for the first container, so a warning is enough here.
    code: 'driver.no-uvm',
    severity: 'warn',
    text: /azp-fleet: no \/dev\/nvidia-uvm/,
    where: 'host',
    what: 'the host has no /dev/nvidia-uvm, which CUDA needs',
    next: 'wait for the next check, which creates it, or run `nvidia-modprobe -u -c=0`',
  },
  {
    code: 'smi.missing',
    exit: 127,
    text: /nvidia-smi.*(?:not found|no such file)/i,
    where: 'container',
    what: 'nvidia-smi is missing in the container',
    next: 'check nvidia-container-toolkit and that the driver capabilities contain `utility`; run `azp-fleet provision`',
  },
  {
    code: 'smi.missing',
    exit: 127,
    text: /nvidia-smi.*(?:not found|no such file)|ENOENT/i,
    what: 'nvidia-smi is missing',
    next: 'run `azp-fleet provision` to install the driver',
  },
  {
    code: 'smi.not-runnable',
    exit: 126,
    what: 'nvidia-smi cannot be executed',
    next: 'compare its architecture with that of the host, and reinstall the user space of the driver',
  },
  {
    code: 'driver.no-library',
    exit: 12,
    text: /couldn't find libnvidia-ml/i,
    what: 'libnvidia-ml, the driver’s management library, is missing',
    next: 'add `utility` to the driver capabilities of a container; on the host, reinstall the user space of the driver',
  },
  {
    code: 'driver.no-library',
    exit: 13,
    what: 'libnvidia-ml is too old for this nvidia-smi',
    next: 'reinstall the driver’s user space, all packages of one version',
  },
  {
    code: 'gpu.power-cable',
    exit: 8,
    what: 'a GPU’s external power cable is not attached',
    next: 'attach the power cable',
  },
  {
    code: 'gpu.interrupt',
    exit: 10,
    what: 'the kernel reports an interrupt problem with a GPU',
    next: 'check BIOS and kernel settings for the card’s interrupts (MSI), then the hardware',
  },
  {
    code: 'gpu.inforom',
    severity: 'warn',
    exit: 14,
    text: /infoROM is corrupted/i,
    what: 'a GPU’s InfoROM is corrupted; it often still works',
    next: 'plan to replace the card',
  },
  {
    code: 'smi.permission',
    exit: 4,
    what: 'nvidia-smi lacks permission',
    next: 'run it as root, and check /dev/nvidia*',
  },
  {
    code: 'smi.argument',
    exit: 2,
    what: 'this nvidia-smi does not support `-q -x`',
    next: 'install a driver of branch 470 or newer',
  },
  {
    code: 'smi.unsupported',
    exit: 3,
    what: 'the GPU does not support the query',
    next: 'check `nvidia-smi -q` on the host',
  },
];

/** Returns the failure of a run. Undefined: exit code 0 and none of the known texts. */
export function explainSmiFailure(run: SmiRun, where: Where): Finding | undefined {
  if (run.timedOut) return hung(run.program);
  const outside = aroundReport(run);
  const fits = (cause: Cause): boolean => cause.where === undefined || cause.where === where;
  const cause =
    causes.find((cause) => fits(cause) && cause.text?.test(outside) === true) ??
    causes.find((cause) => fits(cause) && cause.exit === run.code);
  if (cause !== undefined) return finding(cause, busIdIn(outside));
  if (run.code === 0) return undefined;
  return {
    code: 'smi.failed',
    severity: 'fail',
    what: `nvidia-smi failed with exit code ${run.code}${lastLine(outside)}`,
    next: 'run `nvidia-smi` on the host, and check `journalctl -k | grep NVRM`',
  };
}

function hung(program = 'nvidia-smi'): Finding {
  return {
    code: 'smi.hung',
    severity: 'fail',
    what: `${program} does not answer: a GPU or the driver hangs`,
    next: reboot,
  };
}

export function unreadable(reason: string): Finding {
  return {
    code: 'smi.unreadable',
    severity: 'fail',
    what: `the output of nvidia-smi cannot be parsed: ${reason}`,
    next: 'run `nvidia-smi -q -x` on the host, and report the output if it is correct',
  };
}

/** Reports output in which text of the driver and names of processes cannot be distinguished. */
export function ambiguous(severity: Finding['severity'], reason: string): Finding {
  return {
    code: 'smi.ambiguous',
    severity,
    what: `the output of nvidia-smi has two readings: ${reason}`,
    next: 'check the names of GPU processes with `nvidia-smi -q -d PIDS` for XML',
  };
}

function finding(cause: Cause, gpu: string | undefined): Finding {
  const { code, what, next, severity = 'fail' } = cause;
  return gpu === undefined || !code.startsWith('gpu.')
    ? { code, severity, what, next }
    : { code, gpu, severity, what, next };
}

/** Returns the PCI address that an error names. */
function busIdIn(output: string): string | undefined {
  const match = /(?:[\da-f]{4}){1,2}:[\da-f]{2}:[\da-f]{2}\.\d/i.exec(output);
  return match === null ? undefined : normalizeBusId(match[0]);
}

function lastLine(output: string): string {
  const line = output.trim().split('\n').at(-1)?.trim() ?? '';
  return line === '' ? '' : `: ${line.slice(0, 200)}`;
}
