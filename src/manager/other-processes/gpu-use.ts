import type { App, MemoryReading } from './listing.ts';
import type { SeenProcess, Whose } from './owners.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import type { Slot } from '../model.ts';

/** A process on a GPU, with what is known of it. */
export interface GpuProcess extends App {
  readonly process?: SeenProcess;
  readonly whose: Whose;
}

/** One GPU of a slot, or a part of one, at one moment. */
export interface GpuUse {
  /** `GPU-…` or, of a part, `MIG-…`. */
  readonly gpu: string;
  /** nvidia-smi tells which board processes are on, not which part of it. */
  readonly isPart: boolean;
  /** Of the whole board. */
  readonly processes: readonly GpuProcess[];
  /** Of the part, where it is one; undefined: not known, or it says nothing about who computes there. */
  readonly memoryMiB: number | undefined;
  /** What was in use when nobody was there. */
  readonly baselineMiB: number | undefined;
  /** Other slots that may use it, too, and whether a job runs in one of them. */
  readonly sharers: ReadonlyMap<string, { readonly busy: boolean }>;
}

/**
 * What the driver itself takes of an idle GPU, at most, where nobody has seen it idle yet: captures show 0 MiB on H100, H200
 * and L40S, 9 to 26 MiB of each MIG part, some hundred with drivers before 510, which count what is reserved.
 */
const mostOfDriverMiB = 1024;
/**
 * An idle GPU is not always at the same figure. The smallest compute context takes more than this: captures have 230 MiB
 * for a video encoder, 500 MiB and more for CUDA on data-center cards.
 */
const toleranceMiB = 100;

/** What of the memory in use nobody who is listed accounts for; undefined: the list does not tell. Pure. */
export function unexplainedMiB(memoryMiB: number, processes: readonly GpuProcess[]): number | undefined {
  if (processes.some(({ usedMiB }) => usedMiB === undefined)) return undefined;
  return Math.max(0, memoryMiB - processes.reduce((sum, { usedMiB = 0 }) => sum + usedMiB, 0));
}

/** So much in use is the driver's own. Pure. */
export function isDriversOwn(memoryMiB: number, baselineMiB: number | undefined): boolean {
  return memoryMiB <= (baselineMiB === undefined ? mostOfDriverMiB : baselineMiB + toleranceMiB);
}

/** What was in use, at the least, when nobody was there, by GPU; in one boot. */
export interface MemoryBaselines {
  readonly boot: string;
  readonly mib: Readonly<Record<string, number>>;
}

/** The baselines after a GPU was seen with nobody on it. The lowest counts: what leaks does not become the measure. Pure. */
export function withIdle(known: MemoryBaselines, idle: ReadonlyMap<string, number>): MemoryBaselines {
  const lower = [...idle].filter(
    ([gpu, memoryMiB]) =>
      memoryMiB < (known.mib[gpu] ?? Number.POSITIVE_INFINITY) && isDriversOwn(memoryMiB, known.mib[gpu]),
  );
  return lower.length === 0 ? known : { ...known, mib: { ...known.mib, ...Object.fromEntries(lower) } };
}

/** All that was seen at one moment. */
export interface Sight {
  readonly processes: readonly GpuProcess[];
  readonly memory: MemoryReading;
  /** See MemoryBaselines. */
  readonly baselines: Readonly<Record<string, number>>;
  /** GPUs on which something has been drawn since the boot. */
  readonly screens: ReadonlySet<string>;
  readonly report: SmiReport | undefined;
  readonly slots: readonly Slot[];
  /** A job runs in the slot, or may. */
  readonly isBusy: (slot: string) => boolean;
}

/** Where CPU and GPU have one memory, what the kernel keeps in the GPU's counts as in use, too (Grace Hopper, Grace Blackwell). */
const coherent = /\bG[HB]\d{3}\b/u;

/** What is on each GPU of the slot. Pure. */
export function usesOf(slot: Slot, sight: Sight): readonly GpuUse[] {
  const others = sight.slots.filter(({ name }) => name !== slot.name);
  return slot.gpus.map((gpu) => {
    const board = boardOf(gpu, sight.report);
    return {
      gpu,
      isPart: board?.uuid !== gpu && gpu.startsWith('MIG-'),
      processes: sight.processes.filter((each) => each.gpu === (board?.uuid ?? gpu)),
      memoryMiB: tellingMemory(gpu, board?.name, sight),
      baselineMiB: sight.baselines[gpu],
      sharers: new Map(
        others
          .filter(({ gpus }) => gpus.includes(gpu))
          .map(({ name }) => [name, { busy: sight.isBusy(name) }] as const),
      ),
    };
  });
}

/** The memory in use of GPUs of the slots on which nobody is, by UUID. Pure. */
export function idleMemory(sight: Sight): ReadonlyMap<string, number> {
  const uses = sight.slots.flatMap((slot) => (sight.isBusy(slot.name) ? [] : usesOf(slot, sight)));
  return new Map(
    uses.flatMap(({ gpu, memoryMiB, processes, sharers }) => {
      const isFree = processes.length === 0 && ![...sharers.values()].some(({ busy }) => busy);
      return isFree && memoryMiB !== undefined ? [[gpu, memoryMiB] as const] : [];
    }),
  );
}

/** Undefined: it says nothing about who computes there. */
function tellingMemory(gpu: string, name: string | undefined, sight: Sight): number | undefined {
  if (sight.screens.has(gpu) || coherent.test(name ?? '')) return undefined;
  return sight.memory.get(gpu)?.usedMiB;
}

function boardOf(gpu: string, report: SmiReport | undefined): SmiReport['gpus'][number] | undefined {
  return report?.gpus.find(
    ({ uuid, migDevices }) => uuid === gpu || migDevices.some((device) => device.uuid === gpu),
  );
}
