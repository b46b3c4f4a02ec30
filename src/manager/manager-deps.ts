import type { AzureClient } from '../shared/azure/client.ts';
import type { Logger } from '../shared/base/log.ts';
import type { ManagerConfig } from '../shared/contract/config.ts';
import type { Engine } from '../shared/engine/engine.ts';
import type { Clock } from '../shared/base/clock.ts';
import type { HostRoot } from '../shared/base/host-root.ts';
import type { FollowCommand, RunCommand } from './machine/command.ts';
import type { DiskSpace } from './machine/disk.ts';
import type { ReadProcess } from './machine/process.ts';
import type { MachineSize } from './machine/machine-facts.ts';

/** The effects of the manager: server, Docker Engine, clock, programs, files. Each part picks the ones that it needs. */
export interface ManagerDeps {
  readonly config: ManagerConfig;
  readonly engine: Engine;
  readonly azure: AzureClient;
  readonly clock: Clock;
  /** Prefix of this host's /sys, /proc and /dev. */
  readonly root: HostRoot;
  readonly log: Logger;
  /** Runs a program of the host: nvidia-smi, dmesg, ip. */
  readonly command: RunCommand;
  /** Follows the output of a program that keeps running: the kernel log, changes of routing rules. */
  readonly follow: FollowCommand;
  /** Reads any process of the machine. */
  readonly process: ReadProcess;
  readonly machine: MachineSize;
  /** Measures the file system that a path is on. */
  readonly diskSpace: (path: string) => Promise<DiskSpace>;
  /** Reads the mounts that this process sees, in the form of /proc/self/mountinfo. */
  readonly mountinfo: () => Promise<string>;
  /** Returns the folder in which containerd stores images; undefined: it does not exist. */
  readonly containerdRoot: () => Promise<string | undefined>;
  /** Aborted when the manager is asked to stop. */
  readonly signal: AbortSignal;
}
