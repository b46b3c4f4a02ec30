import type { AzureAgent } from '../../shared/azure/client.ts';
import { hasCode } from '../../shared/azure/http/errors.ts';
import { Capabilities } from '../../shared/contract/paths.ts';
import type { Slot } from '../model.ts';
import type { ManagerDeps } from '../manager-deps.ts';
import type { StateStore } from '../state.ts';
import { rememberNames, withNames, type OwnAgents } from './own-agents.ts';
import type { Pools } from './watch.ts';

/** Interval for a pool that slots have left. */
const leftPoolMs = 5 * 60_000;

/** A name is forgotten when the pool has not shown an agent of it for this time: reads may be older than writes. */
const forgetMs = 4 * 60_000;

interface SweeperTools extends Pick<ManagerDeps, 'azure' | 'clock' | 'log'> {
  readonly state: StateStore;
}

/** A container of ours, in any state, with its agent. */
export interface AgentRun {
  readonly agent: string;
  /** Undefined: it was created by an earlier version. */
  readonly poolId: number | undefined;
}

/**
 * Removes agents of ours without a slot: in the pools of this host's slots, after slots were removed or the host was
 * renamed, and in pools that slots have left. The end of a run removes its agent at once (`endKey`); this finds the others.
 */
export class Sweeper {
  readonly #tools: SweeperTools;
  readonly #own: Pick<OwnAgents, 'list'>;
  readonly #pools: Pools;
  /** By pool id. */
  readonly #orphans = new Map<number, Orphans>();
  /** By pool id: when the agents that were listed last had been read; monotonic. */
  readonly #listedAt = new Map<number, number>();
  /** By pool id and name: since when the lists lack an agent of ours; monotonic. */
  readonly #lackedSince = new Map<string, number>();

  constructor(tools: SweeperTools, own: Pick<OwnAgents, 'list'>, pools: Pools) {
    this.#tools = tools;
    this.#own = own;
    this.#pools = pools;
  }

  /** Returns all names that agents of ours have had in a pool, including current ones. */
  earlier(poolId: number): readonly string[] {
    return this.#tools.state.value.names[poolId] ?? [];
  }

  /** Sweeps all pools. `runs`: all containers of ours. */
  async round(slots: readonly Slot[], runs: readonly AgentRun[]): Promise<void> {
    if (slots.length === 0) return;
    const current = this.#pools.all.flatMap(({ pool }) => pool?.id ?? []);
    const others = runs.flatMap(({ poolId }) => poolId ?? []);
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
      await this.#note(id, watch.agents(), inPool, watch.at);
    }
    // A pool that has not been found yet may be one of the remembered pools.
    if (current.length === this.#pools.all.length) {
      const { pools, names } = this.#tools.state.value;
      // A slot may have left its pool before the first round.
      const known = new Set([...pools, ...Object.keys(names).map(Number)]);
      for (const id of [...known].filter((each) => !current.includes(each)))
        await this.#noteLeft(id, others.includes(id));
    }
    for (const id of this.#orphans.keys()) await this.#removeDue(id, runs);
  }

  /** Lists a pool that slots have left; forgets it when it has had no agent of ours for a while. */
  async #noteLeft(id: number, isInUse: boolean): Promise<void> {
    const { state, clock } = this.#tools;
    const at = clock.monotonic();
    // Rounds are slightly shorter than their interval.
    if (at - (this.#listedAt.get(id) ?? Number.NEGATIVE_INFINITY) < clock.scaled(leftPoolMs * 0.9)) return;
    const agents = (await ofPool(this.#own.list(id, [], this.earlier(id)))) ?? new Map<string, AzureAgent>();
    await this.#note(id, agents.values(), [], at);
    if (isInUse || this.#orphans.has(id) || this.earlier(id).length > 0) return;
    this.#listedAt.delete(id);
    await state.note(({ pools }) => ({ pools: pools.filter((each) => each !== id) }));
  }

  /** Notes the agents without a slot in a list. `at`: when it was read; a list is noted once. */
  async #note(id: number, all: Iterable<AzureAgent>, slots: readonly Slot[], at: number): Promise<void> {
    const { state, clock } = this.#tools;
    if (this.#listedAt.get(id) === at) return;
    this.#listedAt.set(id, at);
    const agents = [...all];
    const names = new Set(slots.map(({ agent }) => agent.toLowerCase()));
    const found = orphansIn(agents, { owner: state.owner, names }, this.#orphans.get(id), at);
    if (found.size === 0) this.#orphans.delete(id);
    else this.#orphans.set(id, found);
    // An agent whose owner capability was removed may get it again: the manager still knows its id.
    const listed = new Set(
      agents
        .filter((agent) => this.#isOurs(agent) || agent.userCapabilities?.[Capabilities.owner] === undefined)
        .map(({ name }) => name.toLowerCase()),
    );
    const gone = new Set<string>();
    for (const name of this.earlier(id)) {
      const key = `${id}/${name}`;
      if (names.has(name) || listed.has(name)) this.#lackedSince.delete(key);
      else if (at - (this.#lackedSince.get(key) ?? at) >= clock.scaled(forgetMs)) gone.add(name);
      else if (!this.#lackedSince.has(key)) this.#lackedSince.set(key, at);
    }
    if (gone.size === 0) return;
    for (const name of gone) this.#lackedSince.delete(`${id}/${name}`);
    await state.note(({ names: known }) => ({
      names: withNames(
        known,
        id,
        (known[id] ?? []).filter((name) => !gone.has(name)),
      ),
    }));
  }

  /** Removes the agents without a slot that are due and, when they are read again now, still ours, offline and without a job. */
  async #removeDue(id: number, runs: readonly AgentRun[]): Promise<void> {
    const { clock, azure, log } = this.#tools;
    const inUse = new Set(
      runs.flatMap(({ agent, poolId = id }) => (poolId === id ? [agent.toLowerCase()] : [])),
    );
    const orphans = new Map(this.#orphans.get(id));
    for (const [agentId, orphan] of orphans) {
      const now = clock.monotonic();
      // The end of its run removes it.
      if (inUse.has(orphan.name.toLowerCase()) || now < dueAt(orphan, (ms) => clock.scaled(ms))) continue;
      orphans.set(agentId, { ...orphan, triedAt: now });
      this.#orphans.set(id, new Map(orphans));
      const agent = await ofPool(azure.findAgent(id, orphan.name));
      const isGone = agent?.id !== agentId || !this.#isOurs(agent);
      if (!isGone && (agent.status !== 'offline' || agent.assignedRequest !== undefined)) continue;
      if (!isGone && !(await azure.deleteAgent(id, agentId))) continue;
      if (!isGone) log.log('info', 'removed an agent without a slot', { name: orphan.name, pool: id });
      orphans.delete(agentId);
    }
    if (orphans.size === 0) this.#orphans.delete(id);
    else this.#orphans.set(id, orphans);
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

/** Resolves with undefined if the pool was deleted. */
function ofPool<Value>(answer: Promise<Value>): Promise<Value | undefined> {
  return answer.catch((error: unknown) => {
    if (hasCode(error, 'azure.not-found')) return undefined;
    throw error;
  });
}

/** An agent without a slot is read again and removed after this time, which a slow read does not span. */
const orphanMs = 30_000;
/** Pauses of later tries: while a lost job may end (the server counts it for about 15 minutes), and after that. */
const retryMs = { first: 30_000, later: 5 * 60_000, laterAfter: 20 * 60_000 };

/** An agent of ours without a slot; times are monotonic. */
interface Orphan {
  readonly name: string;
  /** When it was first read without a slot. */
  readonly since: number;
  readonly triedAt?: number;
}

/** By agent id. */
export type Orphans = ReadonlyMap<number, Orphan>;

/** Returns the agents of ours without a slot. `at`: when the agents were read. Pure. */
export function orphansIn(
  agents: Iterable<AzureAgent>,
  ours: { readonly owner: string; readonly names: ReadonlySet<string> },
  before: Orphans = new Map(),
  at: number,
): Orphans {
  const found = [...agents].filter(
    ({ name, userCapabilities }) =>
      userCapabilities?.[Capabilities.owner] === ours.owner && !ours.names.has(name.toLowerCase()),
  );
  return new Map(found.map(({ id, name }) => [id, before.get(id) ?? { name, since: at }]));
}

/** Returns when it is tried to remove the agent. `scaled`: see Clock. Pure. */
export function dueAt({ since, triedAt }: Orphan, scaled: (ms: number) => number): number {
  if (triedAt === undefined) return since + scaled(orphanMs);
  const pause = triedAt - since < scaled(retryMs.laterAfter) ? retryMs.first : retryMs.later;
  return triedAt + scaled(pause);
}
