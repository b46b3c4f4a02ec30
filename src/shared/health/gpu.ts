/** A part of a GPU in MIG mode. */
export interface MigDevice {
  readonly index: number;
  /** `MIG-…`; only known with the output of `nvidia-smi -L`. */
  readonly uuid?: string;
  /** `1g.18gb`; from the same listing. */
  readonly profile?: string;
  readonly gpuInstance?: number;
  readonly computeInstance?: number;
  readonly memoryTotalMiB?: number;
  readonly memoryUsedMiB?: number;
}

/** The ids of a MIG instance in the kernel log. */
export interface GpuPart {
  readonly gpuInstance: number;
  readonly computeInstance?: number;
}

/** Identity and load of a GPU. The health rules read their own values. */
export interface Gpu {
  readonly index: number;
  /** Empty when it cannot be read; `faults` then says why. */
  readonly uuid: string;
  readonly name: string;
  /** `Hopper`, `Ada Lovelace`, … */
  readonly architecture?: string;
  /** `0000:83:00.0`: four-digit domain, lower case, as in sysfs. */
  readonly busId: string;
  /** `9.0`; not in the XML: it comes from the listing or the architecture. */
  readonly computeCapability?: string;
  readonly memoryTotalMiB?: number;
  readonly memoryUsedMiB?: number;
  readonly utilizationPercent?: number;
  /** 0 is the fastest. */
  readonly performanceState?: number;
  readonly migMode?: 'enabled' | 'disabled';
  readonly migDevices: readonly MigDevice[];
  /** Failure tokens by field, e.g. `{ 'temperature.gpu_temp': '[GPU is lost]' }`; bounded in number. */
  readonly faults: Readonly<Record<string, string>>;
}

/** `00000000:83:00.0`, `0000:83:00` and `83:00.0` all become `0000:83:00.0`. Other text is returned in lower case. */
export function normalizeBusId(id: string): string {
  const match = /^(?:PCI:)?(?:([\da-f]{1,8}):)?([\da-f]{1,2}):([\da-f]{1,2})(?:\.([\da-f]))?$/i.exec(
    id.trim(),
  );
  if (match === null) return id.trim().toLowerCase();
  const [, domain = '0', bus = '', device = '', fn = '0'] = match;
  const digits = Number.parseInt(domain, 16).toString(16).padStart(4, '0');
  return `${digits}:${bus.padStart(2, '0')}:${device.padStart(2, '0')}.${fn}`.toLowerCase();
}
