import { defined } from '../../shared/base/objects.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import { readAnswer } from '../../shared/health/smi-answer.ts';
import { askSmi } from '../../shared/health/smi-run.ts';
import { type GpuWatch, smiDeadlineMs } from '../gpus/watch.ts';

/**
 * Arguments of nvidia-smi for who computes on which GPU. Names are not asked for: a process chooses its own, and may put
 * commas and line breaks into it. Processes that only draw are not listed.
 */
export const appsArguments = [
  '--query-compute-apps=gpu_uuid,pid,used_memory',
  '--format=csv,noheader,nounits',
];

/** For how much memory of each GPU is in use, whoever uses it. Every driver since 390 knows these fields. */
const memoryArguments = ['--query-gpu=uuid,memory.used,display_active', '--format=csv,noheader,nounits'];

/** One process on one GPU. */
export interface App {
  /** UUID of the board, also where the process is in a part of it. */
  readonly gpu: string;
  /** Undefined: nvidia-smi does not tell it. */
  readonly pid?: number;
  /** Undefined: the driver does not know, as in some virtual machines. */
  readonly usedMiB?: number;
}

/** How much of a GPU, or of a part of one, is in use. */
interface MemoryUse {
  readonly usedMiB: number;
  /** Something is drawn on it: what that takes comes and goes. */
  readonly displays: boolean;
}

/** More than the processes that drivers allow on sixteen GPUs. */
const mostLines = 20_000;

/** What `appsArguments` print; lines of another shape are noise. Pure. */
export function readApps(output: string): readonly App[] {
  return lines(output).flatMap((line) => {
    const [, gpu, pid, used] =
      /^(GPU-[\w-]{1,60}), (\d{1,9}|\[[^\]]{1,60}\]), (\d{1,9}|\[[^\]]{1,60}\])$/u.exec(line) ?? [];
    return gpu === undefined ? [] : [{ gpu, ...defined({ pid: number(pid), usedMiB: number(used) }) }];
  });
}

/** What `memoryArguments` print, by UUID; a GPU that does not tell is left out. Pure. */
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
