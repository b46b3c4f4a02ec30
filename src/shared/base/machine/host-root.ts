/**
 * Where a host has what it knows of its GPUs, their driver and its kernel: /sys, /proc and /dev. They are below another
 * folder only on practice hosts, which have no GPU; what tells of processes is the machine's own there, too.
 */
export interface HostRoot {
  /** To be put before an absolute path: '' on real machines, a folder without a slash at its end in practice. */
  readonly prefix: string;
}

export const machineRoot: HostRoot = { prefix: '' };
