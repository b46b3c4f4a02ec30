import { defined } from '../../shared/base/objects.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import { readAnswer } from '../../shared/health/smi-answer.ts';
import { askSmi } from '../../shared/health/smi-run.ts';
import { type GpuWatch, smiDeadlineMs } from '../gpus/watch.ts';

/**
 * Arguments of nvidia-smi that list compute processes. Without names: a process chooses its name, which may contain commas
 * and newlines. Processes that only draw are not listed.
 */
export const appsArguments = [
  '--query-compute-apps=gpu_uuid,pid,used_memory',
  '--format=csv,noheader,nounits',
];

/** Arguments of nvidia-smi for the memory in use of each GPU. Every driver since 390 has these fields. */
const memoryArguments = ['--query-gpu=uuid,memory.used,display_active', '--format=csv,noheader,nounits'];

/** One process on one GPU. */
export interface App {
  /** UUID of the board, also for a process in a MIG device. */
  readonly gpu: string;
  /** Undefined: nvidia-smi does not list it. */
  readonly pid?: number;
  /** Undefined: the driver does not know it, as in some virtual machines. */
  readonly usedMiB?: number;
}

/** Memory in use of a GPU or MIG device. */
interface MemoryUse {
  readonly usedMiB: number;
  /** A display is active; its memory varies. */
  readonly displays: boolean;
}

/** Most lines that are read; drivers allow fewer processes on sixteen GPUs. */
const mostLines = 20_000;

/** Parses the output of `appsArguments`; other lines are ignored. Pure. */
export function readApps(output: string): readonly App[] {
  return lines(output).flatMap((line) => {
    const [, gpu, pid, used] =
      /^(GPU-[\w-]{1,60}), (\d{1,9}|\[[^\]]{1,60}\]), (\d{1,9}|\[[^\]]{1,60}\])$/u.exec(line) ?? [];
    return gpu === undefined ? [] : [{ gpu, ...defined({ pid: number(pid), usedMiB: number(used) }) }];
  });
}

/** Parses the output of `memoryArguments`, by UUID; a GPU without a value is left out. Pure. */
export function readMemory(output: string): ReadonlyMap<string, MemoryUse> {
  return new Map(
    lines(output).flatMap((line) => {
      const [, gpu, used, display] = /^(GPU-[\w-]{1,60}), (\d{1,9}), ([^,]{1,60})$/u.exec(line) ?? [];
      return gpu === undefined
        ? []
        : [[gpu, { usedMiB: Number(used), displays: display === 'Enabled' }] as const];
    }),
  );
}

function lines(output: string): readonly string[] {
  return output.split('\n', mostLines).map((line) => line.trim());
}

function number(text: string | undefined): number | undefined {
  return text === undefined || text.startsWith('[') ? undefined : Number(text);
}

/** By UUID of a GPU or MIG device; unknown values are left out. */
export type MemoryReading = ReadonlyMap<string, MemoryUse>;

/** The part of the GPU watch that reads processes and memory. */
export type GpuKnowledge = Pick<GpuWatch, 'report' | 'order' | 'ignored'> & {
  readonly driver: Pick<GpuWatch['driver'], 'run'>;
};

/**
 * Reads the memory in use from nvidia-smi. `parts`: a slot uses a MIG device. Only the XML output has those; it takes longer.
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

/** Returns the memory in use. `known`: has the UUIDs of MIG devices; the XML has only their numbers. Pure. */
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

/** A GPU in MIG mode has no display. */
function use(usedMiB: number): MemoryUse {
  return { usedMiB, displays: false };
}
