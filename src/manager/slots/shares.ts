import { cpuShares, memoryShare } from '../../shared/contract/slots.ts';
import type { MachineSize } from '../machine/machine-facts.ts';
import type { Slot } from '../model.ts';

/** The slots with their part of the machine, where they name none of their own. Pure. */
export function withShares(
  slots: readonly Slot[],
  { memoryMiB, cpus: machineCpus }: MachineSize,
): readonly Slot[] {
  const share = memoryShare(memoryMiB, slots.length);
  return slots.map((slot) => {
    const { cpus } = slot.limits;
    const memory = share === undefined ? {} : { memory: `${share}m` };
    const weight = cpus === undefined ? {} : { cpuShares: cpuShares(cpus, machineCpus, slots.length) };
    return { ...slot, limits: { ...memory, ...slot.limits }, ...weight };
  });
}
