import type { AzureClient } from '../azure/client.ts';
import type { Logger } from '../base/log.ts';
import type { Secret } from '../base/secret.ts';
import type { ManagerConfig } from '../contract/config.ts';
import type { Engine } from '../engine/engine.ts';
import type { Clock } from './clock.ts';
import type { RunCommand } from './command.ts';
import type { DiskSpace } from './disk.ts';
import type { FollowCommand } from './follow-command.ts';
import type { Evidence } from './evidence.ts';
import type { Helpers } from './helpers.ts';
import type { Fence } from './fence.ts';
import type { AgentStore } from './host-mode/agent-store.ts';
import type { HostEngine } from './host-mode/host-engine.ts';
import type { KeyStock } from './key-stock.ts';
import type { Metrics } from './metrics.ts';
import type { StateStore } from './state.ts';

/** What every operation works with. */
export interface Tools {
  readonly config: ManagerConfig;
  readonly engine: Engine;
  readonly azure: AzureClient;
  /** For slots straight on the host; the engine knows their runs, too. */
  readonly host: { readonly engine: HostEngine; readonly agents: AgentStore };
  readonly clock: Clock;
  readonly log: Logger;
  readonly state: StateStore;
  readonly evidence: Evidence;
  readonly keys: KeyStock;
  /** The credential itself, for config.sh alone. */
  readonly secret: () => Promise<Secret>;
  readonly metrics: Metrics;
  readonly helpers: Helpers;
  /** Programs of the host: nvidia-smi, dmesg, ip. */
  readonly command: RunCommand;
  /** The same for one that goes on: the kernel log. */
  readonly follow: FollowCommand;
  readonly fence: Fence;
  /** Of the file system that a path is on. */
  readonly diskSpace: (path: string) => Promise<DiskSpace>;
  /** Ends when the manager is asked to stop. */
  readonly signal: AbortSignal;
}
