import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { HostRoot } from '../../base/machine/host-root.ts';

/** PCI addresses of the NVIDIA GPUs in bus order, those passed through to virtual machines left out. */
export async function pciGpus({ prefix }: HostRoot): Promise<readonly string[]> {
  const root = `${prefix}/sys/bus/pci/devices`;
  const addresses = await readdir(root).catch(() => []);
  const found = await Promise.all(
    addresses.map(async (address) => ((await isGpu(join(root, address))) ? [address] : [])),
  );
  return found.flat().sort();
}

async function isGpu(device: string): Promise<boolean> {
  const read = (name: string): Promise<string> => readFile(join(device, name), 'utf8').catch(() => '');
  if ((await read('vendor')).trim() !== '0x10de') return false;
  const kind = (await read('class')).trim();
  // VGA and 3D controllers.
  if (!kind.startsWith('0x0300') && !kind.startsWith('0x0302')) return false;
  const driver = await readlink(join(device, 'driver')).catch(() => '');
  return basename(driver) !== 'vfio-pci';
}
