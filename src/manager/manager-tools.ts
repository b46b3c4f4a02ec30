import type { Fetch, TryConnect } from '../shared/azure/http/proxy.ts';
import type { Secret } from '../shared/base/secret.ts';
import type { NetworkIsolation } from './docker/network-isolation.ts';
import type { Helpers } from './docker/janitor.ts';
import type { AgentStore } from './host-mode/agent-store.ts';
import type { HostEngine } from './host-mode/host-engine.ts';
import type { ManagerDeps } from './manager-deps.ts';
import type { ReadPresence } from './idle/presence.ts';
import type { KeyStock } from './registration/keys.ts';
import type { RunStore } from './runs/run-store.ts';
import type { Archives } from './machine/archives.ts';
import type { History } from './history/history.ts';
import type { Metrics } from './serve/metrics.ts';
import type { TokenUse } from './start/token-use.ts';
import type { StateStore } from './state.ts';

/** The effects and all parts with state. Only the reconcile loop gets all of them. */
export interface ManagerTools extends ManagerDeps {
  /** For slots with `mode: host`; `engine` lists their runs, too. */
  readonly host: { readonly engine: HostEngine; readonly agents: AgentStore };
  readonly connect: TryConnect;
  readonly archives: Pick<Archives, 'digest'>;
  readonly state: StateStore;
  /** Aborted to stop idle agents, too. The daemon exits once no agent is left. */
  readonly leaving: AbortSignal;
  readonly runStore: RunStore;
  readonly history: History;
  readonly keys: KeyStock;
  /** Which token is in use, and which one the server has accepted. */
  readonly token: TokenUse;
  /** Reads the credential, for config.sh only. */
  readonly secret: () => Promise<Secret>;
  /** Reads all trusted certificates as PEM; undefined for a site without an own certificate authority. */
  readonly certificates: () => Promise<string | undefined>;
  readonly metrics: Metrics;
  readonly helpers: Helpers;
  readonly isolation: NetworkIsolation;
  /** Reads uses of this machine by others than the agents. */
  readonly presence: ReadPresence;
  /** Sender and address of webhook messages. */
  readonly webhook: { readonly fetch: Fetch; readonly address: () => Promise<Secret> };
}
