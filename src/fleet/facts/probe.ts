import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Frame } from '../ssh/session/frames.ts';

/** Parameters of probe scripts. */
export interface ProbeTarget {
  /** The root of /sys and /proc for GPUs and their driver. */
  readonly root: HostRoot;
}

/**
 * One group of facts: the POSIX sh text that reads them and the parser of its output, side by side.
 * The script must work under dash, bash and busybox ash, change nothing, and end within milliseconds.
 */
export interface FactProbe<T> {
  /** `[a-z0-9-]+` */
  readonly name: string;
  /** Seconds; default 5. */
  readonly timeoutS?: number;
  readonly script: (target: ProbeTarget) => string;
  /** Never throws: a failed or timed-out probe yields unknown facts. */
  readonly parse: (frame: Frame) => T;
}
