import type { WaveLimits } from '../../inventory/fleet.ts';
import { mayBeDown } from './limits.ts';

/** Pool → all its hosts, those among them that a run does not touch. A host may be in several. */
export type Pools = ReadonlyMap<string, readonly string[]>;

/** How many more hosts each pool can be without. */
export class PoolRoom {
  readonly #left: Map<string, number>;
  readonly #down: Set<string>;
  readonly #poolsOf = new Map<string, string[]>();

  constructor(pools: Pools, down: ReadonlySet<string>, limits: WaveLimits) {
    this.#down = new Set(down);
    this.#left = new Map(
      [...pools].map(([pool, hosts]) => [
        pool,
        mayBeDown(hosts.length, limits) - hosts.filter((host) => down.has(host)).length,
      ]),
    );
    for (const [pool, hosts] of pools)
      for (const host of hosts) this.#poolsOf.set(host, [...(this.#poolsOf.get(host) ?? []), pool]);
  }

  /** A pool that cannot be without this host now; undefined: all can. One that does no work anyway is not missed. */
  fullFor(host: string): string | undefined {
    if (this.#down.has(host)) return undefined;
    return this.#poolsOf.get(host)?.find((pool) => (this.#left.get(pool) ?? 0) <= 0);
  }

  take(host: string): void {
    if (this.#down.has(host)) return;
    this.#down.add(host);
    for (const pool of this.#poolsOf.get(host) ?? []) this.#left.set(pool, (this.#left.get(pool) ?? 0) - 1);
  }
}
