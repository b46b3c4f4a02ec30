import { availableParallelism, totalmem } from 'node:os';

/** How large the machine is that slots share. */
export interface MachineSize {
  /** `MemTotal`. */
  readonly memoryMiB: number;
  readonly cpus: number;
}

export function machineSize(): MachineSize {
  return { memoryMiB: Math.floor(totalmem() / 1024 ** 2), cpus: availableParallelism() };
}
