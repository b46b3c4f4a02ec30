import type { HealthCode } from '../base/codes/code.ts';
import { defined } from '../base/objects.ts';
import { finding } from './findings.ts';
import { normalizeBusId } from './gpu.ts';
import type { SmiRun } from './smi-run.ts';
import { aroundReport } from './smi-sections.ts';
import type { Finding } from './verdict.ts';

export type Where = 'host' | 'container';

interface Cause {
  readonly code: HealthCode;
  /** The exit code with this meaning; texts are compared first. */
  readonly exit?: number;
  readonly text?: RegExp;
  readonly where?: Where;
  /** Absent: as the code's entry says. */
  readonly what?: string;
  readonly next?: string;
}

/**
 * Meanings of a failed nvidia-smi. Exit codes are from its manual ("RETURN VALUE"; 18 is NVML's own number, seen in the
 * field), texts from users' reports. The first match decides; the most specific come first.
 */
const causes: readonly Cause[] = [
  { code: 'driver.mismatch', exit: 18, text: /Driver\/library version mismatch/i },
  {
    code: 'gpu.lost',
    exit: 15,
    text: /GPU is lost|fallen off the bus/i,
    what: 'a GPU has fallen off the PCI bus',
  },
  { code: 'gpu.unreachable', text: /Unable to determine the device handle for GPU/i },
  { code: 'container.gpu-access', text: /Failed to initialize NVML: Unknown Error/i, where: 'container' },
  {
    code: 'container.permission',
    text: /Failed to initialize NVML: Insufficient Permissions/i,
    where: 'container',
  },
  { code: 'gpu.none-found', exit: 6, text: /No devices were found|No supported GPUs were found/i },
  {
    code: 'driver.not-loaded',
    exit: 9,
    text: /couldn't communicate with the NVIDIA driver|driver is not loaded|Driver Not Loaded/i,
  },
  { code: 'container.no-uvm', text: /azp-fleet: no \/dev\/nvidia-uvm/, where: 'container' },
  // The toolkit's hook creates it for the first container, so this is a warning.
  { code: 'driver.no-uvm', text: /azp-fleet: no \/dev\/nvidia-uvm/, where: 'host' },
  {
    code: 'smi.missing',
    exit: 127,
    text: /nvidia-smi.*(?:not found|no such file)/i,
    where: 'container',
    what: 'nvidia-smi is missing in the container',
    next: 'check nvidia-container-toolkit and that the driver capabilities contain `utility`; run `azp-fleet provision`',
  },
  { code: 'smi.missing', exit: 127, text: /nvidia-smi.*(?:not found|no such file)|ENOENT/i },
  { code: 'smi.not-runnable', exit: 126 },
  { code: 'driver.no-library', exit: 12, text: /couldn't find libnvidia-ml/i },
  { code: 'driver.no-library', exit: 13, what: 'libnvidia-ml is too old for this nvidia-smi' },
  { code: 'gpu.power-cable', exit: 8 },
  { code: 'gpu.interrupt', exit: 10 },
  { code: 'gpu.inforom', exit: 14, text: /infoROM is corrupted/i },
  { code: 'smi.permission', exit: 4 },
  { code: 'smi.argument', exit: 2 },
  { code: 'smi.unsupported', exit: 3 },
];

/** Returns the failure of a run. Undefined: exit code 0 and none of the known texts. */
export function explainSmiFailure(run: SmiRun, where: Where): Finding | undefined {
  if (run.timedOut) return hung(run.program);
  const outside = aroundReport(run);
  const fits = (cause: Cause): boolean => cause.where === undefined || cause.where === where;
  const cause =
    causes.find((cause) => fits(cause) && cause.text?.test(outside) === true) ??
    causes.find((cause) => fits(cause) && cause.exit === run.code);
  if (cause !== undefined) return foundBy(cause, busIdIn(outside));
  if (run.code === 0) return undefined;
  return finding('smi.failed', `nvidia-smi failed with exit code ${run.code}${lastLine(outside)}`);
}

function hung(program = 'nvidia-smi'): Finding {
  return finding('smi.hung', `${program} does not answer: a GPU or the driver hangs`);
}

export function unreadable(reason: string): Finding {
  return finding('smi.unreadable', `the output of nvidia-smi cannot be parsed: ${reason}`);
}

/** Reports output in which text of the driver and names of processes cannot be distinguished. */
export function ambiguous(severity: Finding['severity'], reason: string): Finding {
  return finding('smi.ambiguous', `the output of nvidia-smi has two readings: ${reason}`, { severity });
}

function foundBy({ code, what, next }: Cause, gpu: string | undefined): Finding {
  return finding(code, what, defined({ next, gpu: code.startsWith('gpu.') ? gpu : undefined }));
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
