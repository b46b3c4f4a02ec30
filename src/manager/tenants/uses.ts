import type { SmiReport } from '../../shared/health/smi-report.ts';
import type { Slot } from '../model.ts';
import type { MemoryReading } from './memory-reading.ts';
import type { GpuUse, Tenant } from './tenant.ts';

/** All that was seen at one moment. */
export interface Sight {
  readonly tenants: readonly Tenant[];
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
      tenants: sight.tenants.filter((tenant) => tenant.gpu === (board?.uuid ?? gpu)),
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
    uses.flatMap(({ gpu, memoryMiB, tenants, sharers }) => {
      const isFree = tenants.length === 0 && ![...sharers.values()].some(({ busy }) => busy);
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
