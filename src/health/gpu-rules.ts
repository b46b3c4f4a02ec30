import type { Finding } from './verdict.ts';
import type { GpuReport } from './report.ts';

interface GpuRule {
  readonly code: string;
  readonly severity: 'warn' | 'fail';
  /** What is wrong, or undefined. Values that are absent are never wrong. */
  readonly seen: (gpu: GpuReport) => string | undefined;
  /** `{bus}` becomes the GPU's PCI address. */
  readonly next: string;
}

const reset = 'when its job has ended, reset it: `nvidia-smi --gpu-reset -i {bus}`, or reboot the host';
const replace = 'take it out of service and have it replaced (NVIDIA’s field diagnostics, RMA)';
const cooling = 'check air flow, dust, fans and the room';

/** One line a rule. Thresholds and their sources are in docs/health.md. */
const gpuRules: readonly GpuRule[] = [
  {
    code: 'gpu.lost',
    severity: 'fail',
    seen: (gpu) => fault(gpu, /lost|requires reset/i),
    next: 'reboot the host; if it comes back, have the hardware looked at',
  },
  {
    code: 'gpu.recovery-action',
    severity: 'fail',
    seen: ({ recoveryAction }) =>
      when(/reset|reboot/i.test(recoveryAction ?? ''), `it asks for: ${recoveryAction}`),
    next: reset,
  },
  {
    code: 'gpu.recovery-minor',
    severity: 'warn',
    seen: ({ recoveryAction = 'None' }) =>
      when(!/^none$|reset|reboot/i.test(recoveryAction), `it asks for: ${recoveryAction}`),
    next: 'when its job has ended, do what it asks for',
  },
  {
    code: 'gpu.ecc-uncorrected',
    severity: 'fail',
    seen: ({ ecc }) => count(ecc.uncorrectedVolatile, 1, 'uncorrected memory error(s) since the last reset'),
    next: reset,
  },
  {
    code: 'gpu.sram-threshold',
    severity: 'fail',
    seen: ({ ecc }) => when(ecc.sramThresholdExceeded, 'its SRAM has had more errors than NVIDIA allows'),
    next: replace,
  },
  {
    code: 'gpu.remap-failure',
    severity: 'fail',
    seen: ({ ecc }) => when(ecc.remapFailure, 'a bad memory row could not be replaced'),
    next: replace,
  },
  {
    code: 'gpu.remap-pending',
    severity: 'warn',
    seen: ({ ecc }) => when(ecc.remapPending, 'a bad memory row waits to be replaced at the next reset'),
    next: reset,
  },
  {
    code: 'gpu.retirement-pending',
    severity: 'warn',
    seen: ({ ecc }) =>
      when(ecc.retirementPending, 'a bad memory page waits to be retired at the next reboot'),
    next: 'drain and reboot the host',
  },
  {
    code: 'gpu.remapped-rows',
    severity: 'warn',
    seen: ({ ecc }) => count(ecc.remappedUncorrectable, 512, 'memory rows replaced after uncorrected errors'),
    next: 'plan to have it replaced',
  },
  {
    code: 'gpu.fabric',
    severity: 'fail',
    seen: ({ fabric }) => fabricFault(fabric),
    next: 'see `systemctl status nvidia-fabricmanager`: its version must equal the driver’s',
  },
  {
    code: 'gpu.fabric-starting',
    severity: 'warn',
    seen: ({ fabric }) => when(fabric.state === 'In Progress', 'its NVLink fabric is still being set up'),
    next: 'wait a minute; then see `systemctl status nvidia-fabricmanager`',
  },
  {
    code: 'gpu.mig-empty',
    severity: 'fail',
    seen: (gpu) =>
      when(
        gpu.migMode === 'enabled' && gpu.migDevices.length === 0,
        'MIG is on and no instance has been made',
      ),
    next: 'make instances (`nvidia-smi mig -cgi …  -C`) or turn MIG off (`nvidia-smi -i {bus} -mig 0`)',
  },
  {
    code: 'gpu.hot',
    severity: 'warn',
    seen: ({ thermal }) => tooHot(thermal),
    next: cooling,
  },
  {
    code: 'gpu.slowed-heat',
    severity: 'warn',
    seen: ({ slowdown }) =>
      when(
        slowdown.hardwareThermal === true || slowdown.softwareThermal === true,
        'it is slowed down because of heat',
      ),
    next: cooling,
  },
  {
    code: 'gpu.slowed-power',
    severity: 'warn',
    seen: ({ slowdown }) => when(slowdown.powerBrake, 'it is slowed down by the power brake'),
    next: 'check power supplies and cables',
  },
  {
    code: 'gpu.slowed',
    severity: 'warn',
    seen: ({ slowdown }) =>
      when(
        slowdown.hardware === true && slowdown.hardwareThermal !== true && slowdown.powerBrake !== true,
        'its hardware slows it down',
      ),
    next: 'check power and cooling',
  },
  {
    code: 'gpu.pcie-width',
    severity: 'warn',
    seen: ({ pcie }) => below(pcie.width, pcie.maxWidth, 'PCIe lanes'),
    next: 'reseat the card, check risers and the slot',
  },
  {
    code: 'gpu.pcie-generation',
    severity: 'warn',
    seen: (gpu) =>
      when(isWorking(gpu), below(gpu.pcie.generation, gpu.pcie.maxGeneration, 'PCIe generation')),
    next: 'check BIOS settings, risers and the slot',
  },
  {
    code: 'gpu.value-error',
    severity: 'warn',
    seen: (gpu) => fault(gpu, /^(?!.*(?:lost|requires reset))/i),
    next: 'see `nvidia-smi -q` and `journalctl -k | grep NVRM` on the host',
  },
  {
    code: 'gpu.persistence',
    severity: 'warn',
    seen: ({ persistence }) =>
      when(persistence === false, 'persistence mode is off: each start initialises it anew'),
    next: 'enable it: `systemctl enable --now nvidia-persistenced`',
  },
];

/** What the rules find about one GPU. */
export function checkGpu(gpu: GpuReport): readonly Finding[] {
  return gpuRules.flatMap(({ code, severity, seen, next }) => {
    const what = seen(gpu);
    if (what === undefined) return [];
    return [{ code, gpu: gpu.uuid || gpu.busId, severity, what, next: next.replace('{bus}', gpu.busId) }];
  });
}

function when(condition: boolean | undefined, what: string | undefined): string | undefined {
  return condition === true ? what : undefined;
}

function count(value: number | undefined, threshold: number, what: string): string | undefined {
  return when(value !== undefined && value >= threshold, `${value} ${what}`);
}

function below(value: number | undefined, max: number | undefined, what: string): string | undefined {
  return when(value !== undefined && max !== undefined && value < max, `${what}: ${value} of ${max}`);
}

/** An idle GPU lowers its link speed to save power; only a working one tells. */
function isWorking({ performanceState, utilizationPercent }: GpuReport): boolean {
  return performanceState !== undefined && performanceState <= 2 && (utilizationPercent ?? 0) > 0;
}

function tooHot({ gpuC, maxGpuC, marginC, memoryC, maxMemoryC }: GpuReport['thermal']): string | undefined {
  if (marginC !== undefined && marginC <= 0) return `${gpuC ?? '?'} °C, ${-marginC} above its limit`;
  if (gpuC !== undefined && maxGpuC !== undefined && gpuC >= maxGpuC)
    return `${gpuC} °C, its limit is ${maxGpuC}`;
  const memory = memoryC !== undefined && maxMemoryC !== undefined && memoryC >= maxMemoryC;
  return when(memory, `its memory has ${memoryC} °C, the limit is ${maxMemoryC}`);
}

function fabricFault({ state, status }: GpuReport['fabric']): string | undefined {
  if (state === 'Not Started') return 'its NVLink fabric has not been set up: CUDA fails with error 802';
  return when(
    state === 'Completed' && status !== undefined && status !== 'Success',
    `its NVLink fabric is set up with: ${status}`,
  );
}

function fault(gpu: GpuReport, pattern: RegExp): string | undefined {
  const [field, value] = Object.entries(gpu.faults).find(([, token]) => pattern.test(token)) ?? [];
  return when(field !== undefined, `${field}: ${value}`);
}
