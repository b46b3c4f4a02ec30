import type { App } from './listing.ts';
import type { SeenProcess, Whose } from './whose.ts';

/** A process on a GPU, with what is known of it. */
export interface Tenant extends App {
  readonly process?: SeenProcess;
  readonly whose: Whose;
}

/** One GPU of a slot, or a part of one, at one moment. */
export interface GpuUse {
  /** `GPU-…` or, of a part, `MIG-…`. */
  readonly gpu: string;
  /** nvidia-smi tells which board processes are on, not which part of it. */
  readonly isPart: boolean;
  /** Of the whole board. */
  readonly tenants: readonly Tenant[];
  /** Of the part, where it is one; undefined: not known, or it says nothing about who computes there. */
  readonly memoryMiB: number | undefined;
  /** What was in use when nobody was there. */
  readonly baselineMiB: number | undefined;
  /** Other slots that may use it, too, and whether a job runs in one of them. */
  readonly sharers: ReadonlyMap<string, { readonly busy: boolean }>;
}
