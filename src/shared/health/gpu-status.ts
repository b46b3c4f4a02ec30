import { defined } from '../base/objects.ts';
import type { GpuStatus } from '../contract/status.ts';
import type { GpuReport } from './smi-report.ts';

/** Returns what a status shows of a GPU in a report of nvidia-smi. Pure. */
export function gpuStatus(gpu: GpuReport): GpuStatus {
  const { uuid, name, computeCapability, memoryUsedMiB, memoryTotalMiB, utilizationPercent } = gpu;
  const mig = gpu.migDevices.flatMap((device) =>
    device.uuid === undefined
      ? []
      : {
          uuid: device.uuid,
          ...defined({
            profile: device.profile,
            memoryUsedMiB: device.memoryUsedMiB,
            memoryTotalMiB: device.memoryTotalMiB,
          }),
        },
  );
  return {
    uuid,
    name,
    ...defined({
      computeCapability,
      computeMode: gpu.computeMode,
      temperatureC: gpu.thermal.gpuC,
      memoryUsedMiB,
      memoryTotalMiB,
      utilizationPercent,
      powerW: gpu.power.drawW,
      throttled: isThrottled(gpu),
      mig: mig.length === 0 ? undefined : mig,
    }),
  };
}

/** Returns whether heat or the power brake slows a GPU down; undefined: not known. A power cap is usual under load. Pure. */
export function isThrottled({ slowdown }: GpuReport): boolean | undefined {
  const flags = [slowdown.hardware, slowdown.hardwareThermal, slowdown.powerBrake, slowdown.softwareThermal];
  return flags.every((flag) => flag === undefined) ? undefined : flags.includes(true);
}
