import type { AzureAgent, AzureClient, Pool } from '../../shared/azure/client.ts';
import { findAgents, isListedWhole, type AgentsOf } from '../../shared/azure/pools/agents.ts';
import { unscaled, type Clock } from '../../shared/base/clock.ts';

/** Milliseconds that a list is used: agents change state in the pool this much later than on the host. */
const freshMs = 2000;
/** Milliseconds for each agent of a whole list: one of 8,000 agents is 36 MB. */
const freshMsAnAgent = 2.5;
/** Milliseconds between calls for single hosts, in a pool that is not listed whole, once there were so many at once. */
const pauseMs = 500;
const callsAtOnce = 20;
/** Milliseconds after which a host's request no longer counts. */
const requestedMs = 60_000;
/** Milliseconds that a pool's id and size are used. */
const poolMs = 60_000;

type Listing = ReadonlyMap<string, AzureAgent>;

export interface PoolLists {
  /** Tells of agents that will be requested within a minute: one list may be cheaper for all of them. */
  expect(pool: string, request: AgentsOf): void;
  /** Returns current agents of a pool by name: those of the request, and maybe others. */
  of(pool: string, request: AgentsOf): Promise<Listing>;
}

/**
 * Creates lists that need few calls, however many hosts wait for their agents: one list for all hosts if they are much of the pool,
 * else one call for each host, with pauses in between where there are many.
 */
export function poolLists(client: AzureClient, clock: Clock): PoolLists {
  const known = new Map<string, PoolList>();
  const listOf = (pool: string): PoolList => {
    const list = known.get(pool) ?? new PoolList(client, clock, pool);
    known.set(pool, list);
    return list;
  };
  return {
    expect: (pool, request) => void listOf(pool).note(request),
    of: (pool, request) => listOf(pool).of(request),
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
  readonly #requests = new Map<string, { readonly at: number; readonly request: AgentsOf }>();
  readonly #listings = new Map<string, Kept<Listing>>();
  #pool: Kept<Pool | undefined> | undefined;
  /** When the calls for single hosts would have ended, had each taken its pause. */
  #pacedUntil = Number.NEGATIVE_INFINITY;

  constructor(client: AzureClient, clock: Clock, name: string) {
    this.#client = client;
    this.#clock = clock;
    this.#name = name;
  }

  /** Notes a request, and returns its key. */
  note(request: AgentsOf): string {
    const key = JSON.stringify([request.owner, request.names]);
    this.#requests.set(key, { at: this.#clock.monotonic(), request });
    return key;
  }

  async of(request: AgentsOf): Promise<Listing> {
    const key = this.note(request);
    const pool = await this.#findPool();
    return pool === undefined
      ? new Map()
      : (this.#whole(pool) ??
          this.#fresh(key, freshMs, async (begin) => {
            while (!this.#takeTurn()) {
              await this.#clock.wait(unscaled(this.#clock, this.#nextCallAt() - this.#clock.monotonic()));
              const whole = this.#whole(pool);
              if (whole === undefined) continue;
              begin();
              return whole;
            }
            begin();
            return this.#list(pool, [request]);
          }));
  }

  /** Returns the list of the whole pool if much of it is requested now. */
  #whole(pool: Pool): Promise<Listing> | undefined {
    const all = this.#waiting();
    if (!isListedWhole(pool, all)) return undefined;
    return this.#fresh('', Math.max(freshMs, (pool.size ?? 0) * freshMsAnAgent), (begin) => {
      begin();
      return this.#list(pool, all);
    });
  }

  /** Returns the recent requests of hosts. */
  #waiting(): readonly AgentsOf[] {
    const since = this.#clock.monotonic() - requestedMs;
    for (const [key, { at }] of this.#requests) if (at < since) this.#requests.delete(key);
    return [...this.#requests.values()].map(({ request }) => request);
  }

  #findPool(): Promise<Pool | undefined> {
    if (this.#pool !== undefined && this.#clock.monotonic() - this.#pool.at < poolMs) return this.#pool.value;
    const value = this.#client.findPool(this.#name);
    this.#pool = { at: this.#clock.monotonic(), value };
    // A pool that is missing, or that could not be read, may be there on the next call.
    const forget = (): void => {
      if (this.#pool?.value === value) this.#pool = undefined;
    };
    value.then((pool) => (pool === undefined ? forget() : undefined), forget);
    return value;
  }

  /** `list` calls `begin` when its call starts, which may be after a pause: the answer is as old as that. */
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

  async #list(pool: Pool, requests: readonly AgentsOf[]): Promise<Listing> {
    const agents = await findAgents(this.#client, pool, requests);
    return new Map(agents.map((agent) => [agent.name, agent]));
  }

  #nextCallAt(): number {
    return this.#pacedUntil - (callsAtOnce - 1) * this.#clock.scaled(pauseMs);
  }

  /** Whether a call for a single host may be made now. */
  #takeTurn(): boolean {
    const now = this.#clock.monotonic();
    if (now < this.#nextCallAt()) return false;
    this.#pacedUntil = Math.max(now, this.#pacedUntil) + this.#clock.scaled(pauseMs);
    return true;
  }
}
