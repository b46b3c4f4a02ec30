import type { HealthCode } from '../../base/codes/code.ts';
import type { Gpu } from '../gpu.ts';
import type { XmlElement } from '../xml.ts';

/** One rule. `Read` is what its family reads for it. */
export interface Rule<Read> {
  /** Stable: `gpu.…`. */
  readonly code: HealthCode;
  /** `warn` degrades the host; `fail` also stops the slots on this GPU. */
  readonly severity: 'warn' | 'fail';
  /** The case in words, for docs/health.md. */
  readonly when: string;
  /** For docs/health.md: where a threshold comes from, or why this is wrong. */
  readonly source?: string;
  /** What is wrong, in one line, or undefined. Values that are absent are never wrong. */
  readonly seen: (gpu: Gpu & Read) => string | undefined;
  /** What to do: one line, lower case, an imperative. `{bus}` becomes the GPU's PCI address. */
  readonly next: string;
}

/** Rules that look at the same part of a GPU, and how that part is read. */
export interface Family<Read extends object> {
  /**
   * The values of one `<gpu>` element, which become part of its report. Read each through `../values.ts`, whose
   * results are bounded, and keep only single values: the manager holds the report of every GPU.
   */
  readonly read: (gpu: XmlElement) => Read;
  readonly rules: readonly Rule<Read>[];
}

export function family<Read extends object>(parts: Family<Read>): Family<Read> {
  return parts;
}
