/** Where /sys, /proc and /dev describe the GPUs, their driver and the kernel: below another folder only in unit tests. */
export interface HostRoot {
  /** The prefix of an absolute path: '' on a machine, a folder without a trailing slash in a test. */
  readonly prefix: string;
}

export const machineRoot: HostRoot = { prefix: '' };
