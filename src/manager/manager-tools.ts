import type { Fetch } from '../shared/azure/http/proxy.ts';
import type { Secret } from '../shared/base/secret.ts';
import type { Fence } from './docker/fence.ts';
import type { Helpers } from './docker/helpers.ts';
import type { AgentStore } from './host-mode/agent-store.ts';
import type { HostEngine } from './host-mode/host-engine.ts';
import type { Outside } from './outside.ts';
import type { ReadPresence } from './idle/presence.ts';
import type { KeyStock } from './registration/key-stock.ts';
import type { Evidence } from './runs/evidence.ts';
import type { Archives } from './machine/archives.ts';
import type { Metrics } from './serve/metrics.ts';
import type { StateStore } from './state.ts';

/** What the loop works with: the outside and the rooms' own keepers. Only the loop has all of it. */
export interface ManagerTools extends Outside {
  /** For slots straight on the host; the engine knows their runs, too. */
  readonly host: { readonly engine: HostEngine; readonly agents: AgentStore };
  readonly archives: Pick<Archives, 'digest'>;
  readonly state: StateStore;
  /** Aborted: no agent is to be left behind that has no job. Then the daemon ends by itself. */
  readonly leaving: AbortSignal;
  readonly evidence: Evidence;
  readonly keys: KeyStock;
  /** The credential itself, for config.sh alone. */
  readonly secret: () => Promise<Secret>;
  /** All certificates to trust at this site as PEM; undefined where it has none of its own. */
  readonly certificates: () => Promise<string | undefined>;
  readonly metrics: Metrics;
  readonly helpers: Helpers;
  readonly fence: Fence;
  /** Who is at work on this machine beside the agents. */
  readonly presence: ReadPresence;
  /** How messages go out, and where to. */
  readonly webhook: { readonly fetch: Fetch; readonly address: () => Promise<Secret> };
}
