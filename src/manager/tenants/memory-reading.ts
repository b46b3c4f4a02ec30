import type { SmiReport } from '../../health/report.ts';
import { parseSmi } from '../../health/smi-xml.ts';
import { smiDeadlineMs } from '../gpus/watch.ts';
import type { RunCommand } from '../machine/command.ts';
import { memoryArguments, readMemory, type MemoryUse } from './listing.ts';

/** By UUID of a GPU or of a part of one; what is not known is left out. */
export type MemoryReading = ReadonlyMap<string, MemoryUse>;

/**
 * One question to nvidia-smi for the memory in use. Only its XML tells of parts of GPUs, and it takes longer: `parts` is
 * whether any slot has one. `known` names the parts, which the XML only numbers.
 */
export async function readMemoryInUse(
  command: RunCommand,
  { parts, known }: { readonly parts: boolean; readonly known: SmiReport | undefined },
): Promise<MemoryReading> {
  const { code, output } = await command('nvidia-smi', parts ? ['-q', '-x'] : memoryArguments, smiDeadlineMs);
  if (code !== 0) return new Map();
  return parts ? memoryIn(output, known) : readMemory(output);
}

/** Pure. */
export function memoryIn(xml: string, known: SmiReport | undefined): MemoryReading {
  const parsed = parseSmi({ code: 0, output: xml }, []);
  if (!parsed.ok) return new Map();
  return new Map(
    parsed.report.gpus.flatMap(({ uuid, memoryUsedMiB, migDevices }) => {
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
