import type { AzureAgent } from '../../azure/client.ts';
import { hasCode } from '../../azure/http/errors.ts';
import { Capabilities } from '../../contract/paths.ts';
import type { Slot } from '../model.ts';
import type { Outside } from '../outside.ts';
import type { StateStore } from '../state.ts';
import type { Pools } from './pools.ts';
import { sweep, type Orphans } from './sweep.ts';

interface SweeperTools extends Pick<Outside, 'azure' | 'clock' | 'log'> {
  readonly state: StateStore;
}

/**
 * Removes agents of ours for which this host has no slot any more: in the pools of its slots, after fewer were
 * configured or the host was renamed, and in pools that slots have left.
 */
export class Sweeper {
  readonly #tools: SweeperTools;
  readonly #pools: Pools;
  /** By pool id. */
  readonly #orphans = new Map<number, Orphans>();

  constructor(tools: SweeperTools, pools: Pools) {
    this.#tools = tools;
    this.#pools = pools;
  }

  /** `others`: ids of pools that containers of ours say they are in. */
  async round(slots: readonly Slot[], others: readonly number[]): Promise<void> {
    if (slots.length === 0) return;
    const current = this.#pools.all.flatMap(({ pool }) => pool?.id ?? []);
    await this.#remember([...current, ...others]);
    for (const watch of this.#pools.all) {
      const inPool = slots.filter((slot) => this.#pools.of(slot) === watch);
      const names = new Set(inPool.map(({ agent }) => agent.toLowerCase()));
      if (watch.pool !== undefined) await this.#sweep(watch.pool.id, watch.agents(), names);
    }
    // While a pool has not been found, one that is remembered may be it.
    if (current.length < this.#pools.all.length) return;
    for (const id of this.#tools.state.value.pools.filter((each) => !current.includes(each)))
      await this.#sweepLeft(id, others.includes(id));
  }

  /** A pool of which no slot is any more: forgotten when nothing of ours is in it. */
  async #sweepLeft(id: number, isInUse: boolean): Promise<void> {
    const { azure, state } = this.#tools;
    const agents = await azure.listAgents(id).catch((error: unknown) => {
      if (hasCode(error, 'azure.not-found')) return [];
      throw error;
    });
    const ours = agents.filter(
      ({ userCapabilities }) => userCapabilities?.[Capabilities.owner] === state.owner,
    );
    if (ours.length > 0) return this.#sweep(id, ours, new Set());
    this.#orphans.delete(id);
    if (!isInUse) await state.note(({ pools }) => ({ pools: pools.filter((each) => each !== id) }));
  }

  async #sweep(id: number, agents: Iterable<AzureAgent>, names: ReadonlySet<string>): Promise<void> {
    const { state, clock, azure, log } = this.#tools;
    const ours = { owner: state.owner, names };
    const before = this.#orphans.get(id) ?? new Map();
    const found = sweep(agents, ours, before, clock.monotonic(), (ms) => clock.scaled(ms));
    this.#orphans.set(id, found.orphans);
    for (const agent of found.remove) {
      const removed = await azure.deleteAgent(id, agent.id);
      log.log('info', removed ? 'removed an agent without a slot' : 'kept an agent with a job', {
        name: agent.name,
        pool: id,
      });
    }
  }

  async #remember(ids: readonly number[]): Promise<void> {
    const { state } = this.#tools;
    const fresh = ids.filter((id) => !state.value.pools.includes(id));
    if (fresh.length > 0) await state.note(({ pools }) => ({ pools: [...new Set([...pools, ...fresh])] }));
  }
}
