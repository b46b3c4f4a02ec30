import { readFile } from 'node:fs/promises';
import type { HostRoot } from '../../shared/base/machine/host-root.ts';

/** Another one after each boot; empty where the kernel does not tell. */
export async function bootId({ prefix }: HostRoot): Promise<string> {
  return (await readFile(`${prefix}/proc/sys/kernel/random/boot_id`, 'utf8').catch(() => '')).trim();
}
