import type { AzureAgent } from '../../shared/azure/client.ts';
import { hasCode } from '../../shared/azure/http/errors.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { Slot } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { StateStore } from '../state.ts';
import { rememberNames, withNames, type OwnAgents } from './own-agents.ts';
import type { Pools } from './watch.ts';

/** Interval for a pool that slots have left; shorter while an agent there may be removed soon. */
const leftPoolMs = { idle: 5 * 60_000, waiting: 60_000 };

interface SweeperTools extends Pick<ManagerDeps, 'azure' | 'clock' | 'log'> {
  readonly state: StateStore;
}

/**
 * Removes agents of ours without a slot: in the pools of this host's slots, after slots were removed or the host was
 * renamed, and in pools that slots have left.
 */
export class Sweeper {
  readonly #tools: SweeperTools;
  readonly #own: Pick<OwnAgents, 'list'>;
  readonly #pools: Pools;
  /** By pool id. */
  readonly #orphans = new Map<number, Orphans>();
  /** By pool id: when the agents that were swept last had been read; monotonic. */
  readonly #sweptAt = new Map<number, number>();

  constructor(tools: SweeperTools, own: Pick<OwnAgents, 'list'>, pools: Pools) {
    this.#tools = tools;
    this.#own = own;
    this.#pools = pools;
  }

  /** Returns all names that agents of ours have had in a pool, including current ones. */
  earlier(poolId: number): readonly string[] {
    return this.#tools.state.value.names[poolId] ?? [];
  }

  /** Sweeps all pools. `others`: ids of pools in the labels of our containers. */
  async round(slots: readonly Slot[], others: readonly number[]): Promise<void> {
    if (slots.length === 0) return;
    const current = this.#pools.all.flatMap(({ pool }) => pool?.id ?? []);
    await this.#remember([...current, ...others]);
    for (const watch of this.#pools.all) {
      if (watch.pool === undefined || !Number.isFinite(watch.at)) continue;
      const { id } = watch.pool;
      const inPool = slots.filter((slot) => this.#pools.of(slot) === watch);
      // An earlier version did not save the names of the agents that it registered.
      await rememberNames(
        this.#tools.state,
        id,
        inPool.map(({ agent }) => agent),
      );
      await this.#sweep(id, watch.agents(), inPool, watch.at);
      watch.setWaiting('sweeper', (this.#orphans.get(id)?.size ?? 0) > 0);
    }
    // A pool that has not been found yet may be one of the remembered pools.
    if (current.length < this.#pools.all.length) return;
    const { pools, names } = this.#tools.state.value;
    // A slot may have left its pool before the first round.
    const known = new Set([...pools, ...Object.keys(names).map(Number)]);
    for (const id of [...known].filter((each) => !current.includes(each)))
      await this.#sweepLeft(id, others.includes(id));
  }

  /** Sweeps a pool that slots have left; forgets it when it has no agent of ours. */
  async #sweepLeft(id: number, isInUse: boolean): Promise<void> {
    const { state, clock } = this.#tools;
    const at = clock.monotonic();
    const isWaiting = (this.#orphans.get(id)?.size ?? 0) > 0;
    const last = this.#sweptAt.get(id) ?? Number.NEGATIVE_INFINITY;
    // Rounds are slightly shorter than a minute.
    if (at - last < clock.scaled(leftPoolMs[isWaiting ? 'waiting' : 'idle'] * 0.9)) return;
    const agents = await this.#own.list(id, [], this.earlier(id)).catch((error: unknown) => {
      if (hasCode(error, 'azure.not-found')) return new Map<string, AzureAgent>();
      throw error;
    });
    await this.#sweep(id, agents.values(), [], at);
    if ([...agents.values()].some((agent) => this.#isOurs(agent))) return;
    this.#orphans.delete(id);
    this.#sweptAt.delete(id);
    if (!isInUse)
      await state.note(({ pools, names }) => ({
        pools: pools.filter((each) => each !== id),
        names: withNames(names, id, []),
      }));
  }

  /** Removes agents without a slot. `at`: when the agents were read; a list that was swept is skipped. */
  async #sweep(id: number, all: Iterable<AzureAgent>, slots: readonly Slot[], at: number): Promise<void> {
    const { state, clock, azure, log } = this.#tools;
    if (this.#sweptAt.get(id) === at) return;
    this.#sweptAt.set(id, at);
    const agents = [...all];
    const names = new Set(slots.map(({ agent }) => agent.toLowerCase()));
    const ours = { owner: state.owner, names };
    const before = this.#orphans.get(id) ?? new Map();
    const found = sweep(agents, ours, before, at, (ms) => clock.scaled(ms));
    this.#orphans.set(id, found.orphans);
    for (const agent of found.remove) {
      const removed = await azure.deleteAgent(id, agent.id);
      log.log('info', removed ? 'removed an agent without a slot' : 'kept an agent with a job', {
        name: agent.name,
        pool: id,
      });
    }
    // An agent whose owner capability was removed may get it again: the manager still knows its id.
    const left = new Set(
      agents
        .filter((agent) => this.#isOurs(agent) || agent.userCapabilities?.[Capabilities.owner] === undefined)
        .map(({ name }) => name.toLowerCase()),
    );
    const kept = this.earlier(id).filter((name) => names.has(name) || left.has(name));
    if (kept.length < this.earlier(id).length)
      await state.note((known) => ({ names: withNames(known.names, id, kept) }));
  }

  #isOurs({ userCapabilities }: AzureAgent): boolean {
    return userCapabilities?.[Capabilities.owner] === this.#tools.state.owner;
  }

  async #remember(ids: readonly number[]): Promise<void> {
    const { state } = this.#tools;
    const fresh = ids.filter((id) => !state.value.pools.includes(id));
    if (fresh.length > 0) await state.note(({ pools }) => ({ pools: [...new Set([...pools, ...fresh])] }));
  }
}

/** An agent without a slot is removed after this time, and after at least two reads. */
const orphanMs = 3 * 60_000;

/** Agent id → when it was first read without a slot; monotonic. */
export type Orphans = ReadonlyMap<number, number>;

/**
 * Returns the agents of ours without a slot that are offline and have no job, and those to remove. `scaled`: see Clock;
 * `now`: when the agents were read. Pure.
 */
export function sweep(
  agents: Iterable<AzureAgent>,
  ours: { readonly owner: string; readonly names: ReadonlySet<string> },
  before: Orphans,
  now: number,
  scaled: (ms: number) => number = (ms) => ms,
): { readonly remove: readonly AzureAgent[]; readonly orphans: Orphans } {
  const found = [...agents].filter(
    (agent) =>
      agent.userCapabilities?.[Capabilities.owner] === ours.owner &&
      !ours.names.has(agent.name.toLowerCase()) &&
      agent.status === 'offline' &&
      agent.assignedRequest === undefined,
  );
  const orphans = new Map(found.map((agent) => [agent.id, before.get(agent.id) ?? now]));
  const remove = found.filter((agent) => now - (before.get(agent.id) ?? now) >= scaled(orphanMs));
  return { remove, orphans };
}
