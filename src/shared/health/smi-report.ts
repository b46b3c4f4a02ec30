import { type Gpu, type MigDevice, normalizeBusId } from './gpu.ts';
import { readForRules, type Readings } from './gpu-rules.ts';
import { defined } from '../base/objects.ts';
import { aroundReport, listingIn, type Printed } from './smi-sections.ts';
import { attribute, bounded, failureToken, find, flag, number, text } from './values.ts';
import { parseXml, type XmlElement } from './xml.ts';

/** One GPU of `nvidia-smi -q -x`, with the values that the rules read. Absent values are undefined. */
export type GpuReport = Gpu & Readings;

export interface SmiReport {
  /** `595.84`; empty when the output has none. */
  readonly driverVersion: string;
  /** The highest CUDA version of the driver, `13.2`. */
  readonly cudaVersion?: string;
  readonly gpus: readonly GpuReport[];
}

type SmiResult =
  | { readonly ok: true; readonly report: SmiReport }
  /** Why the text is no report. */
  | { readonly ok: false; readonly reason: string; readonly isAmbiguous: boolean };

/**
 * Parses the output of `nvidia-smi -q -x`, schemas v10 to v13, with other output around it. The output of `nvidia-smi -L` and
 * lines of `uuid, compute capability` may follow. `pci`: addresses of the present GPUs, empty: not known. A GPU that is listed
 * twice, or is not present, makes the output ambiguous; GPUs in `ignored` are left out. Never throws.
 */
export function parseSmi(
  printed: Printed,
  pci: readonly string[],
  ignored: readonly string[] = [],
): SmiResult {
  const listing = listingIn(printed);
  if (!listing.ok) return listing;
  const parsed = parseXml(listing.document);
  if (!parsed.ok) return { ...parsed, isAmbiguous: false };
  const gpus = gpusIn(parsed.root);
  const doubt = doubtAbout(gpus, listing.gpus, pci.length === 0 ? [] : [...pci, ...ignored]);
  if (doubt !== undefined) return { ok: false, reason: doubt, isAmbiguous: true };
  const served = addListing(gpus, aroundReport(printed)).filter(({ busId }) => !ignored.includes(busId));
  return { ok: true, report: withVersions(parsed.root, served) };
}

/** Returns the GPUs of a document, in its order. */
export function gpusIn(root: XmlElement): readonly GpuReport[] {
  return root.children.filter(({ name }) => name === 'gpu').map(gpuReport);
}

/** Returns GPUs as a report, with the versions in their document. */
export function withVersions(root: XmlElement | undefined, gpus: readonly GpuReport[]): SmiReport {
  const cudaVersion = versionIn(root, 'cuda_version', 'cuda_umd_version');
  return {
    driverVersion: versionIn(root, 'driver_version', 'kmd_version') ?? '',
    ...defined({ cudaVersion }),
    gpus,
  };
}

function doubtAbout(
  gpus: readonly GpuReport[],
  announced: number | undefined,
  pci: readonly string[],
): string | undefined {
  if (announced !== undefined && announced !== gpus.length)
    return `it lists ${gpus.length} of ${announced} GPUs`;
  const addresses = gpus.map(({ busId }) => busId);
  const twice = addresses.find((address, at) => addresses.indexOf(address) !== at);
  if (twice !== undefined) return `it lists the GPU at ${twice} twice`;
  const unknown = pci.length === 0 ? undefined : addresses.find((address) => !pci.includes(address));
  return unknown === undefined ? undefined : `it lists a GPU at ${unknown}, where there is none`;
}

/** Returns a version number without the remarks that follow it since driver 610. */
function versionIn(root: XmlElement | undefined, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const version = /^\d+(?:\.\d+)+/.exec((root && text(root, name)) ?? '')?.[0];
    if (version !== undefined) return version;
  }
  return undefined;
}

/** Reads one `<gpu>` element of schema v10 to v13. */
function gpuReport(gpu: XmlElement, index: number): GpuReport {
  return {
    index,
    uuid: text(gpu, 'uuid') ?? '',
    name: text(gpu, 'product_name') ?? '',
    busId: normalizeBusId(text(gpu, 'pci.pci_bus_id') ?? attribute(gpu, 'id') ?? ''),
    migDevices: migDevices(gpu),
    faults: Object.fromEntries([...faults(gpu, '')].slice(0, mostFaults)),
    ...defined({
      architecture: text(gpu, 'product_architecture'),
      memoryTotalMiB: number(gpu, 'fb_memory_usage.total'),
      memoryUsedMiB: number(gpu, 'fb_memory_usage.used'),
      utilizationPercent: number(gpu, 'utilization.gpu_util'),
      performanceState: number(gpu, 'performance_state'),
      migMode: migMode(gpu),
    }),
    ...readForRules(gpu),
  };
}

/** More values than a GPU has. */
const mostFaults = 500;

function migMode(gpu: XmlElement): 'enabled' | 'disabled' | undefined {
  const enabled = flag(gpu, 'mig_mode.current_mig');
  if (enabled === undefined) return undefined;
  return enabled ? 'enabled' : 'disabled';
}

function migDevices(gpu: XmlElement): readonly MigDevice[] {
  const devices = find(gpu, 'mig_devices')?.children.filter(({ name }) => name === 'mig_device') ?? [];
  return devices.map((device, position) => ({
    index: number(device, 'index') ?? position,
    ...defined({
      gpuInstance: number(device, 'gpu_instance_id'),
      computeInstance: number(device, 'compute_instance_id'),
      memoryTotalMiB: number(device, 'fb_memory_usage.total'),
      memoryUsedMiB: number(device, 'fb_memory_usage.used'),
    }),
  }));
}

function* faults(element: XmlElement, path: string): Iterable<[string, string]> {
  for (const child of element.children) {
    if (child.name === 'accounted_processes') continue;
    const here = path === '' ? child.name : `${path}.${child.name}`;
    const token = failureToken(child);
    if (token !== undefined) yield [bounded(here), token];
    yield* faults(child, here);
  }
}

/**
 * Adds values that the XML lacks: MIG UUIDs and profiles from `nvidia-smi -L` and compute capabilities from
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

/** The lowest compute capability of an architecture: enough to choose an image, which has a minimum. */
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
  /** GPU UUID → MIG device number → its UUID and profile. */
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
