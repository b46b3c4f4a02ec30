import type { AzureAgent, AzureClient, Pool } from '../../shared/azure/client.ts';
import { findAgents, isListedWhole, type AgentsOf } from '../../shared/azure/pools/agents.ts';
import { unscaled, type Clock } from '../../shared/base/clock.ts';

/** Agents change state in the pool this much later than on the host. */
const freshMs = 2000;
/** A list of the whole pool is kept longer the longer it is: one of 8,000 agents is 36 MB. */
const freshMsAnAgent = 2.5;
/** In a pool that is not listed whole, hosts are asked about one after the other; milliseconds from one call to the next. */
const pauseMs = 500;
/** Hosts that asked so long ago wait for their agents no more. */
const askedMs = 60_000;
/** What a pool is, and how large. */
const poolMs = 60_000;

type Listing = ReadonlyMap<string, AzureAgent>;

export interface PoolLists {
  /** Agents of a pool as they are now, by name: those that are wanted, perhaps others. */
  of(pool: string, wanted: AgentsOf): Promise<Listing>;
}

/**
 * As few calls as a pool's size lets, however many hosts wait for their agents: one list for all of them where they are much of
 * it, else one for each host, at a pace.
 */
export function poolLists(client: AzureClient, clock: Clock): PoolLists {
  const known = new Map<string, PoolList>();
  return {
    of: (pool, wanted) => {
      const list = known.get(pool) ?? new PoolList(client, clock, pool);
      known.set(pool, list);
      return list.of(wanted);
    },
  };
}

interface Kept<T> {
  readonly at: number;
  readonly value: Promise<T>;
}

class PoolList {
  readonly #client: AzureClient;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #wanted = new Map<string, { readonly at: number; readonly wanted: AgentsOf }>();
  readonly #listings = new Map<string, Kept<Listing>>();
  #pool: Kept<Pool | undefined> | undefined;
  #nextCallAt = Number.NEGATIVE_INFINITY;

  constructor(client: AzureClient, clock: Clock, name: string) {
    this.#client = client;
    this.#clock = clock;
    this.#name = name;
  }

  async of(wanted: AgentsOf): Promise<Listing> {
    const key = JSON.stringify([wanted.owner, wanted.names]);
    this.#wanted.set(key, { at: this.#clock.monotonic(), wanted });
    const pool = await this.#found();
    if (pool === undefined) return new Map();
    const all = this.#waiting();
    if (isListedWhole(pool, all))
      return this.#fresh('', Math.max(freshMs, (pool.size ?? 0) * freshMsAnAgent), async (begin) => {
        begin();
        return this.#list(pool, all);
      });
    return this.#fresh(key, freshMs, async (begin) => {
      await this.#pace();
      begin();
      return this.#list(pool, [wanted]);
    });
  }

  /** What hosts have asked for lately. */
  #waiting(): readonly AgentsOf[] {
    const since = this.#clock.monotonic() - askedMs;
    for (const [key, { at }] of this.#wanted) if (at < since) this.#wanted.delete(key);
    return [...this.#wanted.values()].map(({ wanted }) => wanted);
  }

  #found(): Promise<Pool | undefined> {
    if (this.#pool !== undefined && this.#clock.monotonic() - this.#pool.at < poolMs) return this.#pool.value;
    const value = this.#client.findPool(this.#name);
    this.#pool = { at: this.#clock.monotonic(), value };
    // What is not there yet, or could not be asked for, may be there in a moment.
    const forget = (): void => {
      if (this.#pool?.value === value) this.#pool = undefined;
    };
    value.then((pool) => (pool === undefined ? forget() : undefined), forget);
    return value;
  }

  /** `list` says when its call begins, which may have to wait for its turn: the answer is as old as that. */
  #fresh(key: string, ms: number, list: (begin: () => void) => Promise<Listing>): Promise<Listing> {
    const last = this.#listings.get(key);
    if (last !== undefined && this.#clock.monotonic() - last.at < this.#clock.scaled(ms)) return last.value;
    let at = Number.POSITIVE_INFINITY;
    const value = list(() => (at = this.#clock.monotonic()));
    this.#listings.set(key, {
      value,
      get at() {
        return at;
      },
    });
    return value;
  }

  async #list(pool: Pool, wanted: readonly AgentsOf[]): Promise<Listing> {
    const agents = await findAgents(this.#client, pool, wanted);
    return new Map(agents.map((agent) => [agent.name, agent]));
  }

  async #pace(): Promise<void> {
    const now = this.#clock.monotonic();
    const at = Math.max(now, this.#nextCallAt);
    this.#nextCallAt = at + this.#clock.scaled(pauseMs);
    if (at > now) await this.#clock.wait(unscaled(this.#clock, at - now));
  }
}
