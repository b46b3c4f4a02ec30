import type { SmiReport } from '../../shared/health/smi-report.ts';
import { readAnswer } from '../../shared/health/smi-answer.ts';
import { askSmi } from '../../shared/health/smi-run.ts';
import { type GpuWatch, smiDeadlineMs } from '../gpus/watch.ts';
import { memoryArguments, type MemoryUse, readMemory } from './listing.ts';

/** By UUID of a GPU or of a part of one; what is not known is left out. */
export type MemoryReading = ReadonlyMap<string, MemoryUse>;

/** What the watch of the GPUs knows, and by what the driver is asked. */
export type GpuKnowledge = Pick<GpuWatch, 'report' | 'order' | 'ignored'> & {
  readonly driver: Pick<GpuWatch['driver'], 'run'>;
};

/**
 * Asks nvidia-smi for the memory in use. Only its XML tells of parts of GPUs, and it takes longer: `parts` is whether any
 * slot has one.
 */
export async function readMemoryInUse(
  { driver, order, ignored, report }: GpuKnowledge,
  parts: boolean,
): Promise<MemoryReading> {
  if (!parts) {
    const { code, output } = await driver.run('nvidia-smi', memoryArguments, smiDeadlineMs);
    return code === 0 ? readMemory(output) : new Map();
  }
  const answer = await askSmi(
    order,
    (script) => driver.run('sh', ['-c', script], smiDeadlineMs, 'nvidia-smi'),
    ignored,
  );
  const seen = readAnswer(answer, 'host', order, ignored).report;
  return seen === undefined ? new Map() : memoryIn(seen, report);
}

/** Parts have only numbers in the XML; `known` names them. Pure. */
export function memoryIn({ gpus }: SmiReport, known: SmiReport | undefined): MemoryReading {
  return new Map(
    gpus.flatMap(({ uuid, memoryUsedMiB, migDevices }) => {
      const named = known?.gpus.find((gpu) => gpu.uuid === uuid)?.migDevices ?? [];
      const parts = migDevices.flatMap((device): [string, MemoryUse][] => {
        const part = named.find(({ index }) => index === device.index)?.uuid;
        return part === undefined || device.memoryUsedMiB === undefined
          ? []
          : [[part, use(device.memoryUsedMiB)]];
      });
      return memoryUsedMiB === undefined ? parts : [[uuid, use(memoryUsedMiB)] as const, ...parts];
    }),
  );
}

/** Nothing is drawn on a GPU in parts. */
function use(usedMiB: number): MemoryUse {
  return { usedMiB, displays: false };
}
