import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Frame } from '../ssh/session/frames.ts';

/** What the script needs to know before it runs: nothing that the host could tell itself. */
export interface ProbeTarget {
  /** What tells of GPUs and their driver is read there. */
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
  /** Total: a probe that failed or ran out of time yields what is unknown, not an error. */
  readonly parse: (frame: Frame) => T;
}
