import { defined } from '../base/defined.ts';
import type { MigDevice } from './gpu.ts';
import type { GpuReport } from './report.ts';

/**
 * Adds what the XML lacks: MIG UUIDs and profiles from `nvidia-smi -L` and compute capabilities from
 * `nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader`.
 */
export function addListing(gpus: readonly GpuReport[], listing: string): readonly GpuReport[] {
  const { capabilities, migDevices } = readListing(listing);
  return gpus.map((gpu) => ({
    ...gpu,
    ...defined({ computeCapability: capabilities.get(gpu.uuid) ?? byArchitecture[gpu.architecture ?? ''] }),
    migDevices: withListed(gpu.migDevices, migDevices.get(gpu.uuid) ?? new Map<number, Listed>()),
  }));
}

/** The lowest compute capability of an architecture: enough to choose an image, which only asks for floors. */
const byArchitecture: Readonly<Record<string, string>> = {
  Maxwell: '5.0',
  Pascal: '6.0',
  Volta: '7.0',
  Turing: '7.5',
  Ampere: '8.0',
  'Ada Lovelace': '8.9',
  Hopper: '9.0',
  Blackwell: '10.0',
};

type Listed = Required<Pick<MigDevice, 'uuid' | 'profile'>>;

interface Listing {
  readonly capabilities: ReadonlyMap<string, string>;
  /** GPU UUID → MIG device number → what is told of it. */
  readonly migDevices: ReadonlyMap<string, ReadonlyMap<number, Listed>>;
}

function readListing(listing: string): Listing {
  const capabilities = new Map<string, string>();
  const migDevices = new Map<string, Map<number, Listed>>();
  let current = new Map<number, Listed>();
  for (const line of listing.split('\n')) {
    const [, gpu] = /^GPU \d+: .*\(UUID: (GPU-[\w-]+)\)/.exec(line) ?? [];
    const [, profile, device, mig] =
      /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[\w/-]+)\)/.exec(line) ?? [];
    const [, uuid, capability] = /^(GPU-[\w-]+), (\d+\.\d+)\s*$/.exec(line) ?? [];
    if (gpu !== undefined) migDevices.set(gpu, (current = new Map()));
    if (profile !== undefined && mig !== undefined) current.set(Number(device), { uuid: mig, profile });
    if (uuid !== undefined && capability !== undefined) capabilities.set(uuid, capability);
  }
  return { capabilities, migDevices };
}

function withListed(
  devices: readonly MigDevice[],
  listed: ReadonlyMap<number, Listed>,
): readonly MigDevice[] {
  return devices.map((device) => ({ ...device, ...listed.get(device.index) }));
}
