import { defined } from '../base/defined.ts';
import { normalizeBusId } from './bus-id.ts';
import type { MigDevice } from './gpu.ts';
import type { GpuReport } from './report.ts';
import { readForRules } from './rules/gpu-rules.ts';
import { attribute, bounded, failureToken, find, flag, number, text } from './values.ts';
import type { XmlElement } from './xml.ts';

/** One `<gpu>` element of schema v10 to v13 as a report. */
export function gpuReport(gpu: XmlElement, index: number): GpuReport {
  return {
    index,
    uuid: text(gpu, 'uuid') ?? '',
    name: text(gpu, 'product_name') ?? '',
    busId: normalizeBusId(text(gpu, 'pci.pci_bus_id') ?? attribute(gpu, 'id') ?? ''),
    migDevices: migDevices(gpu),
    faults: Object.fromEntries([...faults(gpu, '')].slice(0, mostFaults)),
    ...defined({
      architecture: text(gpu, 'product_architecture'),
      memoryTotalMiB: number(gpu, 'fb_memory_usage.total'),
      memoryUsedMiB: number(gpu, 'fb_memory_usage.used'),
      utilizationPercent: number(gpu, 'utilization.gpu_util'),
      performanceState: number(gpu, 'performance_state'),
      migMode: migMode(gpu),
    }),
    ...readForRules(gpu),
  };
}

/** More than a GPU has values. */
const mostFaults = 500;

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
      memoryUsedMiB: number(device, 'fb_memory_usage.used'),
    }),
  }));
}

function* faults(element: XmlElement, path: string): Iterable<[string, string]> {
  for (const child of element.children) {
    if (child.name === 'accounted_processes') continue;
    const here = path === '' ? child.name : `${path}.${child.name}`;
    const token = failureToken(child);
    if (token !== undefined) yield [bounded(here), token];
    yield* faults(child, here);
  }
}
