import type { App, MemoryReading } from './listing.ts';
import type { SeenProcess, Owner } from './owners.ts';
import type { SmiReport } from '../../shared/health/smi-report.ts';
import type { Slot } from '../model.ts';

/** A process on a GPU, with its facts and owner. */
export interface GpuProcess extends App {
  readonly process?: SeenProcess;
  readonly owner: Owner;
}

/** One GPU of a slot, or a MIG device, at one time. */
export interface GpuUse {
  /** `GPU-…`, or `MIG-…` of a MIG device. */
  readonly gpu: string;
  /** A MIG device: nvidia-smi lists processes by board only. */
  readonly isPart: boolean;
  /** Processes of the whole board. */
  readonly processes: readonly GpuProcess[];
  /** Memory in use of the GPU or MIG device; undefined: unknown, or no indication of a process. */
  readonly memoryMiB: number | undefined;
  /** Memory in use without processes. */
  readonly baselineMiB: number | undefined;
  /** Other slots that share it, and whether they run a job. */
  readonly sharers: ReadonlyMap<string, { readonly busy: boolean }>;
}

/**
 * Most memory that the driver uses on an idle GPU, until a baseline is known: captures show 0 MiB on H100, H200 and L40S,
 * 9 to 26 MiB on each MIG device, some hundred MiB with drivers before 510, which count reserved memory.
 */
const idleDriverMiB = 1024;
/**
 * The memory of an idle GPU varies a little. The smallest compute context uses more than this: captures show 230 MiB
 * for a video encoder, 500 MiB and more for CUDA on data-center cards.
 */
const toleranceMiB = 100;

/** Returns the memory in use that no listed process accounts for; undefined if unknown. Pure. */
export function unexplainedMiB(memoryMiB: number, processes: readonly GpuProcess[]): number | undefined {
  if (processes.some(({ usedMiB }) => usedMiB === undefined)) return undefined;
  return Math.max(0, memoryMiB - processes.reduce((sum, { usedMiB = 0 }) => sum + usedMiB, 0));
}

/** Returns whether the driver alone may use this much. Pure. */
export function isDriverMemory(memoryMiB: number, baselineMiB: number | undefined): boolean {
  return memoryMiB <= (baselineMiB === undefined ? idleDriverMiB : baselineMiB + toleranceMiB);
}

/** The least memory in use without processes, by GPU, in one boot. */
export interface MemoryBaselines {
  readonly boot: string;
  readonly mib: Readonly<Record<string, number>>;
}

/** Returns the baselines after a check of GPUs without processes. The lowest counts, so that a leak does not raise it. Pure. */
export function withIdle(known: MemoryBaselines, idle: ReadonlyMap<string, number>): MemoryBaselines {
  const lower = [...idle].filter(
    ([gpu, memoryMiB]) =>
      memoryMiB < (known.mib[gpu] ?? Number.POSITIVE_INFINITY) && isDriverMemory(memoryMiB, known.mib[gpu]),
  );
  return lower.length === 0 ? known : { ...known, mib: { ...known.mib, ...Object.fromEntries(lower) } };
}

/** The GPUs at one check. */
export interface GpuSnapshot {
  readonly processes: readonly GpuProcess[];
  readonly memory: MemoryReading;
  /** In MiB, by GPU; see MemoryBaselines. */
  readonly baselines: Readonly<Record<string, number>>;
  /** GPUs with an active display since the boot. */
  readonly displays: ReadonlySet<string>;
  readonly report: SmiReport | undefined;
  readonly slots: readonly Slot[];
  /** Returns whether a job runs, or may run, in the slot. */
  readonly isBusy: (slot: string) => boolean;
}

/** GPUs that share memory with the CPU, where the kernel's data counts as in use (Grace Hopper, Grace Blackwell). */
const coherent = /\bG[HB]\d{3}\b/u;

/** Returns the use of each GPU of the slot. Pure. */
export function usesOf(slot: Slot, snapshot: GpuSnapshot): readonly GpuUse[] {
  const others = snapshot.slots.filter(({ name }) => name !== slot.name);
  return slot.gpus.map((gpu) => {
    const board = boardOf(gpu, snapshot.report);
    return {
      gpu,
      isPart: board?.uuid !== gpu && gpu.startsWith('MIG-'),
      processes: snapshot.processes.filter((each) => each.gpu === (board?.uuid ?? gpu)),
      memoryMiB: significantMemory(gpu, board?.name, snapshot),
      baselineMiB: snapshot.baselines[gpu],
      sharers: new Map(
        others
          .filter(({ gpus }) => gpus.includes(gpu))
          .map(({ name }) => [name, { busy: snapshot.isBusy(name) }] as const),
      ),
    };
  });
}

/** Returns the memory in use of the slots' GPUs without processes, by UUID. Pure. */
export function idleMemory(snapshot: GpuSnapshot): ReadonlyMap<string, number> {
  const uses = snapshot.slots.flatMap((slot) => (snapshot.isBusy(slot.name) ? [] : usesOf(slot, snapshot)));
  return new Map(
    uses.flatMap(({ gpu, memoryMiB, processes, sharers }) => {
      const isFree = processes.length === 0 && ![...sharers.values()].some(({ busy }) => busy);
      return isFree && memoryMiB !== undefined ? [[gpu, memoryMiB] as const] : [];
    }),
  );
}

/** Returns the memory in use; undefined: it does not indicate a process. */
function significantMemory(gpu: string, name: string | undefined, snapshot: GpuSnapshot): number | undefined {
  if (snapshot.displays.has(gpu) || coherent.test(name ?? '')) return undefined;
  return snapshot.memory.get(gpu)?.usedMiB;
}

function boardOf(gpu: string, report: SmiReport | undefined): SmiReport['gpus'][number] | undefined {
  return report?.gpus.find(
    ({ uuid, migDevices }) => uuid === gpu || migDevices.some((device) => device.uuid === gpu),
  );
}
