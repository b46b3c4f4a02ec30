import { readFile } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import type { HostRoot } from '../../shared/base/host-root.ts';

/** Another one after each boot; empty where the kernel does not tell. */
export async function bootId({ prefix }: HostRoot): Promise<string> {
  return (await readFile(`${prefix}/proc/sys/kernel/random/boot_id`, 'utf8').catch(() => '')).trim();
}

/** How large the machine is that slots share. */
export interface MachineSize {
  /** `MemTotal`. */
  readonly memoryMiB: number;
  readonly cpus: number;
}

export function machineSize(): MachineSize {
  return { memoryMiB: Math.floor(totalmem() / 1024 ** 2), cpus: availableParallelism() };
}
