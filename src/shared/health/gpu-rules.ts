import type { Gpu } from './gpu.ts';
import type { XmlElement } from './xml.ts';
import { defined } from '../base/objects.ts';
import type { FindingEntry } from '../base/codes/entry.ts';
import { flag, number, sum, text } from './values.ts';

/** One rule. `Read` is what its family reads for it. */
export interface Rule<Read, Code = string> extends Pick<FindingEntry, 'title' | 'dependsOn' | 'lastsForS'> {
  /** Stable. It needs no other line than this one. */
  readonly code: Code;
  /** `info` is only shown; `warn` degrades the host; `fail` also stops the slots on this GPU. */
  readonly severity: 'info' | 'warn' | 'fail';
  /** The manager raises the severity to `fail` when it has seen this for so many minutes. */
  readonly failsAfterMin?: number;
  /** The condition in words, for docs/findings.md. */
  readonly when: string;
  /** For docs/findings.md: where a threshold comes from, or why this is wrong. */
  readonly source?: string;
  /** Returns what is wrong, in one line, or undefined. An absent value is never wrong. */
  readonly seen: (gpu: Gpu & Read) => string | undefined;
  /** What to do: one line, lower case, an imperative. `{bus}` becomes the GPU's PCI address. */
  readonly next: string;
}

/** Rules about the same part of a GPU, and how that part is read. */
interface Family<Read extends object, Code> {
  /**
   * Reads the values of one `<gpu>` element, which become part of its report. Read each through `values.ts`, whose
   * results are bounded, and keep only single values: the manager holds the report of every GPU.
   */
  readonly read: (gpu: XmlElement) => Read;
  readonly rules: readonly Rule<Read, Code>[];
}

function family<Read extends object, const Code extends `gpu.${string}`>(
  parts: Family<Read, Code>,
): Family<Read, Code> {
  return parts;
}

/** Returns the text where the condition is true; an unknown condition is not. */
function sayIf(condition: boolean | undefined, what: string | undefined): string | undefined {
  return condition === true ? what : undefined;
}

/** Returns `3 bad rows` where the value is known and not below the threshold. */
function atLeast(value: number | undefined, threshold: number, what: string): string | undefined {
  return sayIf(value !== undefined && value >= threshold, `${value} ${what}`);
}

/** Returns `PCIe lanes: 8 of 16` where both are known and the value is below. */
function below(value: number | undefined, max: number | undefined, what: string): string | undefined {
  return sayIf(value !== undefined && max !== undefined && value < max, `${what}: ${value} of ${max}`);
}

/** Returns the first failure token that matches the pattern: `uuid: [GPU is lost]`. */
function faultLike(faults: Readonly<Record<string, string>>, pattern: RegExp): string | undefined {
  const [field, value] = Object.entries(faults).find(([, token]) => pattern.test(token)) ?? [];
  return sayIf(field !== undefined, `${field}: ${value}`);
}

/** For `next`. */
const resetGpu = 'reset it after its job ends: `nvidia-smi --gpu-reset -i {bus}`, or reboot the host';

/** A GPU that is lost, or needs a reset or reboot. */
const failure = family({
  read: (gpu) =>
    defined({
      /** None, Reset, Reboot, Drain P2P, Drain and Reset; the reset status of older drivers is translated to these. */
      recoveryAction: recoveryAction(gpu),
    }),
  rules: [
    {
      code: 'gpu.lost',
      title: 'GPU is lost',
      severity: 'fail',
      when: 'a value reads `GPU is lost` or `requires reset`',
      source: 'nvidia-smi manual',
      seen: ({ faults }) => faultLike(faults, /lost|requires reset/i),
      next: 'reboot the host; if the fault returns, check the hardware',
    },
    {
      code: 'gpu.recovery-action',
      title: 'GPU needs a reset',
      severity: 'fail',
      when: 'the driver asks for Reset, Reboot or Drain and Reset (older drivers: reset required, drain and reset recommended)',
      source: 'as DCGM does',
      seen: ({ recoveryAction: action = 'None' }) =>
        sayIf(/reset|reboot/i.test(action), `the driver asks for: ${action}`),
      next: resetGpu,
    },
    {
      code: 'gpu.recovery-minor',
      title: 'GPU needs a recovery action',
      severity: 'warn',
      when: 'the driver asks for another action, such as Drain P2P',
      source: 'as DCGM does',
      seen: ({ recoveryAction: action = 'None' }) =>
        sayIf(!/^none$|reset|reboot/i.test(action), `the driver asks for: ${action}`),
      next: 'do what the driver asks for after the job ends',
    },
  ],
});

function recoveryAction(gpu: XmlElement): string | undefined {
  const action = text(gpu, 'gpu_recovery_action');
  if (action !== undefined) return action.replace(/^(?:GPU|Node) /, '');
  if (flag(gpu, 'gpu_reset_status.reset_required') === true) return 'Reset';
  return flag(gpu, 'gpu_reset_status.drain_and_reset_recommended') === true ? 'Drain and Reset' : undefined;
}

const replace = 'replace the card (NVIDIA’s field diagnostics, RMA)';

/** v13 splits the SRAM count into parity and SEC-DED errors; before Ampere there are double-bit errors. */
const uncorrected = [
  'ecc_errors.volatile.sram_uncorrectable',
  'ecc_errors.volatile.sram_uncorrectable_parity',
  'ecc_errors.volatile.sram_uncorrectable_secded',
  'ecc_errors.volatile.dram_uncorrectable',
  'ecc_errors.volatile.double_bit.total',
];

/** Errors of the GPU's memory, and their repair. */
const memory = family({
  read: (gpu) => ({
    ecc: defined({
      uncorrectedVolatile: sum(gpu, ...uncorrected),
      sramThresholdExceeded: flag(gpu, 'ecc_errors.aggregate.sram_threshold_exceeded'),
      /** Before Ampere: a page is retired at the next reboot. */
      retirementPending: flag(gpu, 'retired_pages.pending_retirement'),
      /** Since Ampere: a row is remapped at the next reset. */
      remapPending: flag(gpu, 'remapped_rows.remapped_row_pending'),
      remapFailure: flag(gpu, 'remapped_rows.remapped_row_failure'),
      remappedUncorrectable: number(gpu, 'remapped_rows.remapped_row_unc'),
      unrepairable: flag(gpu, 'ecc_errors.unrepairable_memory'),
      channelRepairPending: flag(gpu, 'ecc_errors.channel_repair_pending'),
      tpcRepairPending: flag(gpu, 'ecc_errors.tpc_repair_pending'),
    }),
  }),
  rules: [
    {
      code: 'gpu.ecc-uncorrected',
      title: 'Uncorrected memory errors',
      severity: 'fail',
      when: 'uncorrected errors since the last reset ≥ 1 (SRAM parity, SRAM SEC-DED, DRAM; double-bit before Ampere)',
      source: 'as DCGM does',
      seen: ({ ecc }) =>
        atLeast(ecc.uncorrectedVolatile, 1, 'uncorrected memory error(s) since the last reset'),
      next: resetGpu,
    },
    {
      code: 'gpu.sram-threshold',
      title: 'Too many SRAM errors',
      severity: 'fail',
      when: 'SRAM threshold exceeded',
      source: 'NVIDIA’s criterion for replacement',
      seen: ({ ecc }) => sayIf(ecc.sramThresholdExceeded, 'its SRAM has more errors than NVIDIA allows'),
      next: replace,
    },
    {
      code: 'gpu.remap-failure',
      title: 'Memory row cannot be remapped',
      severity: 'fail',
      when: 'a memory row could not be remapped',
      source: 'as DCGM does',
      seen: ({ ecc }) => sayIf(ecc.remapFailure, 'a bad memory row could not be remapped'),
      next: replace,
    },
    {
      code: 'gpu.unrepairable-memory',
      title: 'Memory cannot be repaired',
      severity: 'fail',
      when: 'unrepairable memory',
      source: 'the driver has no repair left (since 595)',
      seen: ({ ecc }) => sayIf(ecc.unrepairable, 'it has memory that cannot be repaired'),
      next: replace,
    },
    {
      code: 'gpu.remap-pending',
      title: 'Memory row is remapped at the next reset',
      severity: 'warn',
      when: 'a memory row is remapped at the next reset',
      source: 'as DCGM does',
      seen: ({ ecc }) => sayIf(ecc.remapPending, 'a bad memory row is remapped at the next reset'),
      next: resetGpu,
    },
    {
      code: 'gpu.channel-repair-pending',
      title: 'Memory channel is repaired at the next reset',
      severity: 'warn',
      when: 'a memory channel is repaired at the next reset',
      source: 'as a pending remap',
      seen: ({ ecc }) => sayIf(ecc.channelRepairPending, 'a memory channel is repaired at the next reset'),
      next: resetGpu,
    },
    {
      code: 'gpu.tpc-repair-pending',
      title: 'TPC is repaired at the next reset',
      severity: 'warn',
      when: 'a processing cluster (TPC) is repaired at the next reset',
      source: 'as a pending remap',
      seen: ({ ecc }) =>
        sayIf(ecc.tpcRepairPending, 'a processing cluster (TPC) is repaired at the next reset'),
      next: resetGpu,
    },
    {
      code: 'gpu.retirement-pending',
      title: 'Memory page is retired at the next reboot',
      severity: 'warn',
      when: 'a memory page is retired at the next reboot (before Ampere)',
      source: 'as DCGM does',
      seen: ({ ecc }) => sayIf(ecc.retirementPending, 'a bad memory page is retired at the next reboot'),
      next: 'drain and reboot the host',
    },
    {
      code: 'gpu.remapped-rows',
      title: 'Many remapped memory rows',
      severity: 'warn',
      when: 'memory rows remapped after uncorrected errors ≥ 512',
      source: 'as DCGM does',
      seen: ({ ecc }) =>
        atLeast(ecc.remappedUncorrectable, 512, 'memory rows remapped after uncorrected errors'),
      next: 'plan to replace the card',
    },
  ],
});

/** Setup that a GPU needs before a job can compute on it. */
const readiness = family({
  read: (gpu) => ({
    fabric: fabricOf(gpu),
    /** Default, Exclusive_Process, Exclusive_Thread, Prohibited. */
    ...defined({ computeMode: text(gpu, 'compute_mode') }),
  }),
  rules: [
    {
      code: 'gpu.fabric',
      title: 'NVLink fabric failed',
      dependsOn: ['driver.fabric-manager'],
      severity: 'fail',
      when: 'NVLink fabric is Not Started, or Completed without Success (SXM boards)',
      source: 'CUDA fails with error 802',
      seen: ({ fabric }) => fabricFault(fabric),
      next: 'check `systemctl status nvidia-fabricmanager`: its version must equal the driver’s',
    },
    {
      code: 'gpu.fabric-starting',
      title: 'NVLink fabric is starting',
      dependsOn: ['driver.fabric-manager'],
      severity: 'warn',
      failsAfterMin: 2,
      when: 'NVLink fabric is In Progress',
      source: 'it stays so for ever without fabric manager (NVSentinel#889)',
      seen: ({ fabric }) => sayIf(fabric.state === 'In Progress', 'its NVLink fabric is still starting'),
      next: 'check `systemctl status nvidia-fabricmanager`: the fabric does not start without it',
    },
    {
      code: 'gpu.fabric-unhealthy',
      title: 'NVLink fabric is unhealthy',
      severity: 'fail',
      when: 'the health of the NVLink fabric is Unhealthy',
      source: 'the driver’s own summary (since 580)',
      seen: ({ fabric }) => sayIf(fabric.health === 'Unhealthy', 'its NVLink fabric is unhealthy'),
      next: 'check `nvidia-smi -q -d FABRIC`, the NVSwitches and their cables',
    },
    {
      code: 'gpu.compute-prohibited',
      title: 'GPU prohibits processes',
      severity: 'fail',
      when: 'compute mode is Prohibited',
      source: 'CUDA starts no process on the GPU',
      seen: ({ computeMode }) =>
        sayIf(computeMode === 'Prohibited', 'its compute mode is Prohibited: no job can use it'),
      next: 'allow processes again: `nvidia-smi -i {bus} -c DEFAULT`',
    },
    {
      code: 'gpu.mig-empty',
      title: 'MIG has no instance',
      severity: 'fail',
      when: 'MIG is on and has no instance',
      source: 'no job can use the GPU',
      seen: ({ migMode, migDevices }) =>
        sayIf(migMode === 'enabled' && migDevices.length === 0, 'MIG is on and has no instance'),
      next: 'create instances (`nvidia-smi mig -cgi …  -C`) or turn MIG off (`nvidia-smi -i {bus} -mig 0`)',
    },
  ],
});

/** NVLink fabric of SXM boards: Completed, In Progress, Not Started, … */
function fabricOf(gpu: XmlElement) {
  return defined({
    state: text(gpu, 'fabric.state'),
    status: text(gpu, 'fabric.status'),
    health: text(gpu, 'fabric.health.summary'),
  });
}

function fabricFault({ state, status }: ReturnType<typeof fabricOf>): string | undefined {
  if (state === 'Not Started') return 'its NVLink fabric has not started: CUDA fails with error 802';
  return sayIf(
    state === 'Completed' && status !== undefined && status !== 'Success',
    `its NVLink fabric completed with: ${status}`,
  );
}

const cooling = 'check airflow, dust, fans and room temperature';

/** Temperature limits, and slowdowns by heat or power. */
const heatAndPower = family({
  read: (gpu) => ({ thermal: temperatures(gpu), slowdown: slowdowns(gpu), power: powerLimits(gpu) }),
  rules: [
    {
      code: 'gpu.hot',
      title: 'GPU is too hot',
      lastsForS: 60,
      severity: 'warn',
      when: 'temperature margin ≤ 0 °C, or GPU or memory at the highest operating temperature',
      source: 'the card’s own limits',
      seen: ({ thermal }) => tooHot(thermal),
      next: cooling,
    },
    {
      code: 'gpu.slowed-heat',
      title: 'GPU is slowed by heat',
      lastsForS: 60,
      severity: 'warn',
      when: 'a hardware slowdown by heat is active',
      source: 'one sample',
      seen: ({ slowdown }) => sayIf(slowdown.hardwareThermal, 'a slowdown by heat is active'),
      next: cooling,
    },
    {
      code: 'gpu.slowed-heat-software',
      title: 'Clocks are lowered by heat',
      dependsOn: ['gpu.hot'],
      severity: 'info',
      when: 'the driver lowers the clocks to hold the target temperature',
      source: 'usual for cards with a blower under load; `gpu.hot` reports a card at its limit',
      seen: ({ slowdown }) =>
        sayIf(
          slowdown.softwareThermal === true && slowdown.hardwareThermal !== true,
          'the driver lowers its clocks to hold the target temperature',
        ),
      next: cooling,
    },
    {
      code: 'gpu.slowed-power',
      title: 'GPU is slowed by the power brake',
      lastsForS: 60,
      severity: 'warn',
      when: 'the power brake is active',
      source: 'one sample',
      seen: ({ slowdown }) => sayIf(slowdown.powerBrake, 'the power brake slows it down'),
      next: 'check power supplies and cables',
    },
    {
      code: 'gpu.slowed',
      title: 'GPU is slowed',
      lastsForS: 60,
      severity: 'warn',
      when: 'another hardware slowdown is active',
      source: 'one sample',
      seen: ({ slowdown }) =>
        sayIf(
          slowdown.hardware === true && slowdown.hardwareThermal !== true && slowdown.powerBrake !== true,
          'a hardware slowdown is active',
        ),
      next: 'check power and cooling',
    },
    {
      code: 'gpu.power-capped',
      title: 'Power limit is lowered',
      severity: 'info',
      when: 'the power limit is below the default of the board',
      source: 'it may be intended',
      seen: ({ power: { limitW, defaultW } }) => below(limitW, defaultW, 'power limit in watts'),
      next: 'raise it if the cap is not intended: `nvidia-smi -i {bus} -pl WATTS`',
    },
  ],
});

/** Reads the temperatures, all in °C. */
function temperatures(gpu: XmlElement) {
  return defined({
    gpuC: number(gpu, 'temperature.gpu_temp'),
    memoryC: number(gpu, 'temperature.memory_temp'),
    /** Margin to the highest operating temperature; 0 or less is too hot. */
    marginC: number(gpu, 'temperature.gpu_temp_tlimit'),
    /** The highest operating temperature of cards with absolute limits. */
    maxGpuC: number(gpu, 'temperature.gpu_temp_max_gpu_threshold'),
    maxMemoryC: number(gpu, 'temperature.gpu_temp_max_mem_threshold'),
  });
}

/** Reads power and its limits. Until driver 525 the section has no `gpu_`. */
function powerLimits(gpu: XmlElement) {
  return defined({
    drawW: number(
      gpu,
      'gpu_power_readings.average_power_draw',
      'gpu_power_readings.instant_power_draw',
      'gpu_power_readings.power_draw',
      'power_readings.power_draw',
    ),
    limitW: number(gpu, 'gpu_power_readings.current_power_limit', 'power_readings.power_limit'),
    defaultW: number(gpu, 'gpu_power_readings.default_power_limit', 'power_readings.default_power_limit'),
  });
}

/** Reads the active slowdowns. Until driver 525 they were called throttle reasons. */
function slowdowns(gpu: XmlElement) {
  const reason = (name: string): boolean | undefined =>
    flag(
      gpu,
      `clocks_event_reasons.clocks_event_reason_${name}`,
      `clocks_throttle_reasons.clocks_throttle_reason_${name}`,
    );
  return defined({
    hardware: reason('hw_slowdown'),
    hardwareThermal: reason('hw_thermal_slowdown'),
    powerBrake: reason('hw_power_brake_slowdown'),
    softwareThermal: reason('sw_thermal_slowdown'),
  });
}

function tooHot(thermal: ReturnType<typeof temperatures>): string | undefined {
  const { gpuC, maxGpuC, marginC, memoryC, maxMemoryC } = thermal;
  if (marginC !== undefined && marginC <= 0) return `${gpuC ?? '?'} °C, ${-marginC} above its limit`;
  if (gpuC !== undefined && maxGpuC !== undefined && gpuC >= maxGpuC)
    return `${gpuC} °C, its limit is ${maxGpuC}`;
  const memory = memoryC !== undefined && maxMemoryC !== undefined && memoryC >= maxMemoryC;
  return sayIf(memory, `its memory has ${memoryC} °C, its limit is ${maxMemoryC}`);
}

/** The PCIe link between card and host. */
const pcie = family({
  read: (gpu) => ({ pcie: link(gpu) }),
  rules: [
    {
      code: 'gpu.pcie-width',
      title: 'Fewer PCIe lanes',
      severity: 'info',
      when: 'the PCIe link has fewer lanes than the card',
      source:
        'T4, A10G, P2000 and boards with two GPUs always show this; `gpu.pcie-width-lost` reports lanes that were lost',
      seen: ({ pcie: { width, maxWidth } }) => below(width, maxWidth, 'PCIe lanes'),
      next: 'compare it with equal cards; if those have more, reseat it, check risers and the slot',
    },
    {
      code: 'gpu.pcie-generation',
      title: 'Lower PCIe generation',
      lastsForS: 60,
      severity: 'warn',
      when: 'PCIe generation below that of card and host, under load (P0 to P2, utilization > 0)',
      source: 'an idle link slows down to save power',
      seen: (gpu) =>
        sayIf(isWorking(gpu), below(gpu.pcie.generation, gpu.pcie.maxGeneration, 'PCIe generation')),
      next: 'check BIOS settings, risers and the slot',
    },
  ],
});

function link(gpu: XmlElement) {
  const generation = 'pci.pci_gpu_link_info.pcie_gen';
  const width = 'pci.pci_gpu_link_info.link_widths';
  const device = number(gpu, `${generation}.max_device_link_gen`, `${generation}.max_link_gen`);
  const host = number(gpu, `${generation}.max_host_link_gen`);
  return defined({
    generation: number(gpu, `${generation}.current_link_gen`),
    /** The highest generation that card and host support. */
    maxGeneration: device === undefined ? undefined : Math.min(device, host ?? device),
    width: number(gpu, `${width}.current_link_width`),
    maxWidth: number(gpu, `${width}.max_link_width`),
  });
}

/** True under load: an idle GPU lowers its link speed to save power. */
function isWorking({ performanceState, utilizationPercent }: Gpu): boolean {
  return performanceState !== undefined && performanceState <= 2 && (utilizationPercent ?? 0) > 0;
}

/** Driver errors and settings. */
const driver = family({
  read: (gpu) => defined({ persistence: flag(gpu, 'persistence_mode'), vbios: text(gpu, 'vbios_version') }),
  rules: [
    {
      code: 'gpu.value-error',
      title: 'GPU reports an error',
      severity: 'warn',
      when: 'a value reads `Unknown Error` or `ERR!`',
      seen: ({ faults }) => faultLike(faults, /^(?!.*(?:lost|requires reset))/i),
      next: 'check `nvidia-smi -q` and `journalctl -k | grep NVRM` on the host',
    },
    {
      code: 'gpu.persistence',
      title: 'Persistence mode is off',
      severity: 'warn',
      when: 'persistence mode is off',
      source: 'every container start initializes the GPU again',
      seen: ({ persistence }) =>
        sayIf(persistence === false, 'persistence mode is off: every container start initializes it again'),
      next: 'enable it: `systemctl enable --now nvidia-persistenced`',
    },
  ],
});

/** Reads the values of all families from one `<gpu>` element of schema v10 to v13. */
export function readForRules(gpu: XmlElement) {
  return {
    ...failure.read(gpu),
    ...memory.read(gpu),
    ...readiness.read(gpu),
    ...heatAndPower.read(gpu),
    ...pcie.read(gpu),
    ...driver.read(gpu),
  };
}

export type Readings = ReturnType<typeof readForRules>;

/** In the order in which findings of one severity are reported: the first is the cause of a verdict. */
export const gpuRules = [
  ...failure.rules,
  ...memory.rules,
  ...readiness.rules,
  ...heatAndPower.rules,
  ...pcie.rules,
  ...driver.rules,
];

/** The codes of these rules, each declared with its rule. */
export type GpuRuleCode = (typeof gpuRules)[number]['code'];
