import { defined } from '../base/defined.ts';
import type { GpuReport, MigDevice } from './verdict.ts';

/**
 * Adds what the XML lacks: MIG UUIDs from `nvidia-smi -L` and compute capabilities from
 * `nvidia-smi --query-gpu=uuid,compute_cap --format=csv,noheader`.
 */
export function addListing(gpus: readonly GpuReport[], listing: string): readonly GpuReport[] {
  const { capabilities, migUuids } = readListing(listing);
  return gpus.map((gpu) => ({
    ...gpu,
    ...defined({ computeCapability: capabilities.get(gpu.uuid) ?? byArchitecture[gpu.architecture ?? ''] }),
    migDevices: withUuids(gpu.migDevices, migUuids.get(gpu.uuid) ?? new Map<number, string>()),
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

interface Listing {
  readonly capabilities: ReadonlyMap<string, string>;
  /** GPU UUID → MIG device number → MIG UUID. */
  readonly migUuids: ReadonlyMap<string, ReadonlyMap<number, string>>;
}

function readListing(listing: string): Listing {
  const capabilities = new Map<string, string>();
  const migUuids = new Map<string, Map<number, string>>();
  let current = new Map<number, string>();
  for (const line of listing.split('\n')) {
    const [, gpu] = /^GPU \d+: .*\(UUID: (GPU-[\w-]+)\)/.exec(line) ?? [];
    const [, device, mig] = /^\s+MIG .*Device\s+(\d+): \(UUID: (MIG-[\w/-]+)\)/.exec(line) ?? [];
    const [, uuid, capability] = /^(GPU-[\w-]+), (\d+\.\d+)\s*$/.exec(line) ?? [];
    if (gpu !== undefined) migUuids.set(gpu, (current = new Map()));
    if (device !== undefined && mig !== undefined) current.set(Number(device), mig);
    if (uuid !== undefined && capability !== undefined) capabilities.set(uuid, capability);
  }
  return { capabilities, migUuids };
}

function withUuids(devices: readonly MigDevice[], uuids: ReadonlyMap<number, string>): readonly MigDevice[] {
  return devices.map((device) => ({ ...device, ...defined({ uuid: uuids.get(device.index) }) }));
}
