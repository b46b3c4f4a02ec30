import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HostRoot } from '../../src/shared/base/host-root.ts';

/** Creates a machine that has booted, and the files that an image is built from. */
export function makeMachine({ prefix }: HostRoot, context: string): void {
  const boot = join(prefix, 'proc/sys/kernel/random');
  mkdirSync(boot, { recursive: true });
  writeFileSync(join(boot, 'boot_id'), '5b1c9e0a-6f0d-4b5e-9d0e-0f1a2b3c4d5e\n');
  writeFileSync(join(prefix, 'proc/uptime'), '100.00 400.00\n');
  mkdirSync(context);
  writeFileSync(join(context, 'Dockerfile'), 'FROM scratch\n');
}

/** Puts an NVIDIA GPU on the machine's PCI bus. */
export function plugInGpu({ prefix }: HostRoot, address: string): void {
  const device = join(prefix, 'sys/bus/pci/devices', address);
  mkdirSync(device, { recursive: true });
  writeFileSync(join(device, 'vendor'), '0x10de\n');
  writeFileSync(join(device, 'class'), '0x030200\n');
}
