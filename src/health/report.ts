/** A part of a GPU in MIG mode. */
export interface MigDevice {
  readonly index: number;
  /** `MIG-…`; only known where the listing of `nvidia-smi -L` came along. */
  readonly uuid?: string;
  /** `1g.18gb`; from the same listing. */
  readonly profile?: string;
  readonly gpuInstance?: number;
  readonly computeInstance?: number;
  readonly memoryTotalMiB?: number;
}

/** One GPU as `nvidia-smi -q -x` shows it. Absent values are undefined; a value that says the GPU failed is in `faults`. */
export interface GpuReport {
  readonly index: number;
  /** Empty when it could not be read; `faults` then says why. */
  readonly uuid: string;
  readonly name: string;
  /** `Hopper`, `Ada Lovelace`, … */
  readonly architecture?: string;
  /** `0000:83:00.0`: four-digit domain, lower case, as in sysfs. */
  readonly busId: string;
  /** `9.0`; the XML has none, see `computeCapabilityOf`. */
  readonly computeCapability?: string;
  readonly memoryTotalMiB?: number;
  readonly memoryUsedMiB?: number;
  readonly utilizationPercent?: number;
  /** 0 is the fastest. */
  readonly performanceState?: number;
  readonly persistence?: boolean;
  readonly thermal: Thermal;
  readonly slowdown: Slowdown;
  readonly pcie: Pcie;
  readonly migMode?: 'enabled' | 'disabled';
  readonly migDevices: readonly MigDevice[];
  readonly ecc: EccReport;
  /** None, Reset, Reboot, Drain P2P, Drain and Reset; older drivers' reset status is put into these words. */
  readonly recoveryAction?: string;
  /** NVLink fabric of SXM boards: Completed, In Progress, Not Started, … */
  readonly fabric: { readonly state?: string; readonly status?: string };
  /** Failure tokens by field, e.g. `{ 'temperature.gpu_temp': '[GPU is lost]' }`. */
  readonly faults: Readonly<Record<string, string>>;
  readonly processes: readonly { readonly pid: number; readonly name: string; readonly usedMiB?: number }[];
}

/** °C throughout. */
export interface Thermal {
  readonly gpuC?: number;
  readonly memoryC?: number;
  /** Margin to the highest operating temperature; 0 or less is too hot. */
  readonly marginC?: number;
  /** The highest operating temperature where the card gives absolute limits. */
  readonly maxGpuC?: number;
  readonly maxMemoryC?: number;
}

export interface Slowdown {
  readonly hardware?: boolean;
  readonly hardwareThermal?: boolean;
  readonly powerBrake?: boolean;
  readonly softwareThermal?: boolean;
}

export interface Pcie {
  readonly generation?: number;
  /** The best that card and host can do together. */
  readonly maxGeneration?: number;
  readonly width?: number;
  readonly maxWidth?: number;
}

export interface EccReport {
  readonly uncorrectedVolatile?: number;
  readonly sramThresholdExceeded?: boolean;
  /** Before Ampere: a page waits for a reboot to be retired. */
  readonly retirementPending?: boolean;
  /** Since Ampere: a row waits for a reset to be remapped. */
  readonly remapPending?: boolean;
  readonly remapFailure?: boolean;
  readonly remappedUncorrectable?: number;
}

export interface SmiReport {
  /** `595.84`; empty when the output does not tell. */
  readonly driverVersion: string;
  /** The highest CUDA version of the driver, `13.2`. */
  readonly cudaVersion?: string;
  readonly gpus: readonly GpuReport[];
}
