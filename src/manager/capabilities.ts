import { Capabilities } from '../contract/paths.ts';
import type { ManagerConfig } from '../contract/config.ts';
import type { SmiReport } from '../health/verdict.ts';
import type { Slot } from './model.ts';

/** What pipelines may demand of the agent of a slot, and who owns it. */
export function userCapabilities(
  config: ManagerConfig,
  slot: Slot,
  report: SmiReport | undefined,
  owner: string,
): Readonly<Record<string, string>> {
  return {
    ...config.capabilities,
    ...gpuCapabilities(slot, report),
    ...Object.fromEntries(config.datasets.map((dataset) => [`dataset.${dataset.name}`, dataset.container])),
    [Capabilities.owner]: owner,
  };
}

function gpuCapabilities(slot: Slot, report: SmiReport | undefined): Record<string, string> {
  const gpus = (report?.gpus ?? []).filter((gpu) => slot.gpus.includes(gpu.uuid));
  const [first] = gpus;
  const count = { 'gpu.count': String(slot.gpus.length) };
  if (first === undefined || report === undefined) return count;
  const memory = Math.min(...gpus.flatMap((gpu) => gpu.memoryTotalMiB ?? []));
  return {
    ...count,
    'gpu.model': first.name,
    ...(Number.isFinite(memory) ? { 'gpu.memoryMiB': String(memory) } : {}),
    ...(first.computeCapability === undefined ? {} : { 'gpu.computeCapability': first.computeCapability }),
    ...(report.cudaVersion === undefined ? {} : { 'cuda.driverMax': report.cudaVersion }),
    'driver.version': report.driverVersion,
  };
}
