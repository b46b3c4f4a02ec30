import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { HostRoot } from '../../shared/base/machine/host-root.ts';
import { isIgnored } from '../../shared/contract/ignored-gpus.ts';

/** PCI addresses, in bus order. */
interface PciGpus {
  readonly served: readonly string[];
  /** For screens, as the configuration says. */
  readonly ignored: readonly string[];
}

/** The NVIDIA GPUs, those passed through to virtual machines left out. */
export async function pciGpus({ prefix }: HostRoot, ignore: readonly string[] = []): Promise<PciGpus> {
  const root = `${prefix}/sys/bus/pci/devices`;
  const addresses: string[] = await readdir(root).catch(() => []);
  const found = await Promise.all(
    addresses.sort().map(async (address) => {
      const deviceId = await gpuAt(join(root, address));
      return deviceId === undefined ? [] : [{ address, deviceId }];
    }),
  );
  const { served = [], ignored = [] } = Object.groupBy(found.flat(), (gpu) =>
    isIgnored(gpu, ignore) ? 'ignored' : 'served',
  );
  return { served: served.map(addressOf), ignored: ignored.map(addressOf) };
}

function addressOf({ address }: { readonly address: string }): string {
  return address;
}

/** Its device id, `2335`. Undefined: it is none. */
async function gpuAt(device: string): Promise<string | undefined> {
  const read = async (name: string): Promise<string> =>
    (await readFile(join(device, name), 'utf8').catch(() => '')).trim();
  if ((await read('vendor')) !== '0x10de') return undefined;
  const kind = await read('class');
  // VGA and 3D controllers.
  if (!kind.startsWith('0x0300') && !kind.startsWith('0x0302')) return undefined;
  const driver = await readlink(join(device, 'driver')).catch(() => '');
  return basename(driver) === 'vfio-pci' ? undefined : (await read('device')).replace('0x', '').toLowerCase();
}
