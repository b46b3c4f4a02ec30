import { defined } from '../../shared/base/objects.ts';
import { isThrottled } from '../../shared/health/gpu-status.ts';
import type { GpuReport } from '../../shared/health/smi-report.ts';
import type { GpuSample } from './entries.ts';

/** Returns the values of a GPU in one check. Pure. */
function sampleOf(gpu: GpuReport): GpuSample {
  const throttled = isThrottled(gpu);
  return defined({
    utilizationPercent: gpu.utilizationPercent,
    memoryMiB: gpu.memoryUsedMiB,
    temperatureC: gpu.thermal.gpuC,
    powerW: gpu.power.drawW,
    throttled: throttled === undefined ? undefined : Number(throttled),
  });
}

/** Returns the values by UUID: of boards all, of MIG devices the memory. Pure. */
export function devicesOf(gpus: readonly GpuReport[]): ReadonlyMap<string, GpuSample> {
  const boards = gpus.filter(({ uuid }) => uuid !== '');
  return new Map(
    boards.flatMap((gpu) => [
      [gpu.uuid, sampleOf(gpu)] as const,
      ...gpu.migDevices.flatMap(({ uuid, memoryUsedMiB }) =>
        uuid === undefined ? [] : [[uuid, defined({ memoryMiB: memoryUsedMiB })] as const],
      ),
    ]),
  );
}
