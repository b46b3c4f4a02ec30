import type { AzureClient } from '../shared/azure/client.ts';
import type { Logger } from '../shared/base/log.ts';
import type { ManagerConfig } from '../shared/contract/config.ts';
import type { Engine } from '../shared/engine/engine.ts';
import type { Clock } from '../shared/base/machine/clock.ts';
import type { HostRoot } from '../shared/base/machine/host-root.ts';
import type { RunCommand } from './machine/command.ts';
import type { DiskSpace } from './machine/disk.ts';
import type { FollowCommand } from './machine/follow-command.ts';
import type { ReadProcess } from './machine/process.ts';
import type { MachineSize } from './machine/size.ts';

/** What lies outside the manager. A room takes the part that it needs. */
export interface Outside {
  readonly config: ManagerConfig;
  readonly engine: Engine;
  readonly azure: AzureClient;
  readonly clock: Clock;
  /** Where this host has its /sys, /proc and /dev. */
  readonly root: HostRoot;
  readonly log: Logger;
  /** Programs of the host: nvidia-smi, dmesg, ip. */
  readonly command: RunCommand;
  /** The same for one that goes on: the kernel log. */
  readonly follow: FollowCommand;
  /** Any process of the machine. */
  readonly process: ReadProcess;
  readonly machine: MachineSize;
  /** Of the file system that a path is on. */
  readonly diskSpace: (path: string) => Promise<DiskSpace>;
  /** Ends when the manager is asked to stop. */
  readonly signal: AbortSignal;
}
