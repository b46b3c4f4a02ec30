import { defined } from '../base/defined.ts';
import type { EccReport, GpuReport, MigDevice, Pcie, Slowdown, Thermal } from './report.ts';
import { find, flag, isFailure, number, sum, text } from './values.ts';
import type { XmlElement } from './xml.ts';

/** One `<gpu>` element of schema v10 to v13 as a report. Spellings of older schemas come second. */
export function gpuReport(gpu: XmlElement, index: number): GpuReport {
  return {
    index,
    uuid: text(gpu, 'uuid') ?? '',
    name: text(gpu, 'product_name') ?? '',
    busId: normalizeBusId(text(gpu, 'pci.pci_bus_id') ?? gpu.attributes['id'] ?? ''),
    thermal: thermal(gpu),
    slowdown: slowdown(gpu),
    pcie: pcie(gpu),
    migDevices: migDevices(gpu),
    ecc: ecc(gpu),
    fabric: defined({ state: text(gpu, 'fabric.state'), status: text(gpu, 'fabric.status') }),
    faults: Object.fromEntries(faults(gpu, '')),
    processes: processes(gpu),
    ...defined({
      architecture: text(gpu, 'product_architecture'),
      memoryTotalMiB: number(gpu, 'fb_memory_usage.total'),
      memoryUsedMiB: number(gpu, 'fb_memory_usage.used'),
      utilizationPercent: number(gpu, 'utilization.gpu_util'),
      performanceState: number(gpu, 'performance_state'),
      persistence: flag(gpu, 'persistence_mode'),
      migMode: migMode(gpu),
      recoveryAction: recoveryAction(gpu),
    }),
  };
}

/** `00000000:83:00.0`, `0000:83:00` and `83:00.0` all become `0000:83:00.0`. Anything else is returned in lower case. */
export function normalizeBusId(id: string): string {
  const match = /^(?:PCI:)?(?:([\da-f]{1,8}):)?([\da-f]{1,2}):([\da-f]{1,2})(?:\.([\da-f]))?$/i.exec(
    id.trim(),
  );
  if (match === null) return id.trim().toLowerCase();
  const [, domain = '0', bus = '', device = '', fn = '0'] = match;
  const digits = Number.parseInt(domain, 16).toString(16).padStart(4, '0');
  return `${digits}:${bus.padStart(2, '0')}:${device.padStart(2, '0')}.${fn}`.toLowerCase();
}

function thermal(gpu: XmlElement): Thermal {
  return defined({
    gpuC: number(gpu, 'temperature.gpu_temp'),
    memoryC: number(gpu, 'temperature.memory_temp'),
    marginC: number(gpu, 'temperature.gpu_temp_tlimit'),
    maxGpuC: number(gpu, 'temperature.gpu_temp_max_gpu_threshold'),
    maxMemoryC: number(gpu, 'temperature.gpu_temp_max_mem_threshold'),
  });
}

/** Until driver 525 the events were called throttle reasons. */
function slowdown(gpu: XmlElement): Slowdown {
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

function pcie(gpu: XmlElement): Pcie {
  const generation = 'pci.pci_gpu_link_info.pcie_gen';
  const width = 'pci.pci_gpu_link_info.link_widths';
  const device = number(gpu, `${generation}.max_device_link_gen`, `${generation}.max_link_gen`);
  const host = number(gpu, `${generation}.max_host_link_gen`);
  return defined({
    generation: number(gpu, `${generation}.current_link_gen`),
    maxGeneration: device === undefined ? undefined : Math.min(device, host ?? device),
    width: number(gpu, `${width}.current_link_width`),
    maxWidth: number(gpu, `${width}.max_link_width`),
  });
}

function migMode(gpu: XmlElement): 'enabled' | 'disabled' | undefined {
  const enabled = flag(gpu, 'mig_mode.current_mig');
  if (enabled === undefined) return undefined;
  return enabled ? 'enabled' : 'disabled';
}

function migDevices(gpu: XmlElement): readonly MigDevice[] {
  const devices = find(gpu, 'mig_devices')?.children.filter(({ name }) => name === 'mig_device') ?? [];
  return devices.map((device, position) => ({
    index: number(device, 'index') ?? position,
    ...defined({
      gpuInstance: number(device, 'gpu_instance_id'),
      computeInstance: number(device, 'compute_instance_id'),
      memoryTotalMiB: number(device, 'fb_memory_usage.total'),
    }),
  }));
}

/** v13 splits the SRAM count into parity and SEC-DED errors. */
function ecc(gpu: XmlElement): EccReport {
  return defined({
    uncorrectedVolatile: sum(
      gpu,
      ...[
        'sram_uncorrectable',
        'sram_uncorrectable_parity',
        'sram_uncorrectable_secded',
        'dram_uncorrectable',
      ].map((counter) => `ecc_errors.volatile.${counter}`),
      'ecc_errors.volatile.double_bit.total',
    ),
    sramThresholdExceeded: flag(gpu, 'ecc_errors.aggregate.sram_threshold_exceeded'),
    retirementPending: flag(gpu, 'retired_pages.pending_retirement'),
    remapPending: flag(gpu, 'remapped_rows.remapped_row_pending'),
    remapFailure: flag(gpu, 'remapped_rows.remapped_row_failure'),
    remappedUncorrectable: number(gpu, 'remapped_rows.remapped_row_unc'),
  });
}

function recoveryAction(gpu: XmlElement): string | undefined {
  const action = text(gpu, 'gpu_recovery_action');
  if (action !== undefined) return action.replace(/^(?:GPU|Node) /, '');
  if (flag(gpu, 'gpu_reset_status.reset_required') === true) return 'Reset';
  return flag(gpu, 'gpu_reset_status.drain_and_reset_recommended') === true ? 'Drain and Reset' : undefined;
}

function* faults(element: XmlElement, path: string): Iterable<[string, string]> {
  for (const child of element.children) {
    if (child.name === 'processes' || child.name === 'accounted_processes') continue;
    const here = path === '' ? child.name : `${path}.${child.name}`;
    if (isFailure(child.text)) yield [here, child.text];
    yield* faults(child, here);
  }
}

function processes(gpu: XmlElement): GpuReport['processes'] {
  return (find(gpu, 'processes')?.children ?? []).flatMap((process) => {
    const pid = number(process, 'pid');
    if (pid === undefined) return [];
    const usedMiB = number(process, 'used_memory');
    return [{ pid, name: find(process, 'process_name')?.text ?? '', ...defined({ usedMiB }) }];
  });
}
