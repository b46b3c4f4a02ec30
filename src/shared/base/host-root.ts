/** The folder above /sys, /proc and /dev of a host; only unit tests use another than `/`. */
export interface HostRoot {
  /** The prefix of an absolute path: '' on a machine, a folder without a trailing slash in a test. */
  readonly prefix: string;
}

export const machineRoot: HostRoot = { prefix: '' };
