import type { Gpu } from './gpu.ts';
import type { Readings } from './rules/gpu-rules.ts';

/** One GPU as `nvidia-smi -q -x` shows it, with what the rules read of it. Absent values are undefined. */
export type GpuReport = Gpu & Readings;

export interface SmiReport {
  /** `595.84`; empty when the output does not tell. */
  readonly driverVersion: string;
  /** The highest CUDA version of the driver, `13.2`. */
  readonly cudaVersion?: string;
  readonly gpus: readonly GpuReport[];
}
