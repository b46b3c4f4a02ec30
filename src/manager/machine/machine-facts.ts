import { readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import type { HostRoot } from '../../shared/base/host-root.ts';

/** Returns the boot id, different after each boot; empty when it cannot be read. */
export async function bootId({ prefix }: HostRoot): Promise<string> {
  return (await readFile(`${prefix}/proc/sys/kernel/random/boot_id`, 'utf8').catch(() => '')).trim();
}

/** Size of the machine that slots share. */
export interface MachineSize {
  /** `MemTotal`. */
  readonly memoryMiB: number;
  readonly cpus: number;
}

export function machineSize(): MachineSize {
  return { memoryMiB: Math.floor(totalmem() / 1024 ** 2), cpus: availableParallelism() };
}
