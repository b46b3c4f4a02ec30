import type { WaveLimits } from '../inventory/fleet.ts';
import { namesInShort } from '../inventory/fold-names.ts';
import type { Held, Wave, WavesPlan } from './fleet-plan.ts';
import { defined } from '../../shared/base/objects.ts';
import { shareOf, shareText } from '../../shared/base/quantities.ts';

/** The fleet before a run, for planning waves. */
export interface WaveFleet extends Omit<WaveState, 'proven'> {
  /** Hosts that are down, and that this run fixes outside the waves. */
  readonly recovering: ReadonlySet<string>;
  /** Hosts that an interrupted run left drained and not proven, and whose plan does not disturb agents. */
  readonly unproven: readonly string[];
  /** Hosts that would be pending, but cannot be proven afterwards. */
  readonly barred: readonly Held[];
}

/** Plans the waves of a run without failures. Undefined: no host is drained. `removes`: the hosts leave the fleet. Pure. */
export function planWaves(fleet: WaveFleet, limits: WaveLimits, removes?: true): WavesPlan | undefined {
  if (fleet.pending.length === 0 && fleet.barred.length === 0) return undefined;
  const waves: Wave[] = [];
  const unproven = new Set(fleet.unproven);
  let state: WaveState = { ...fleet, down: without(fleet.down, unproven), proven: new Set() };
  let recovered = false;
  const emptied = new Set<string>();
  for (;;) {
    const wave = nextWave(state, limits);
    if (wave !== undefined) {
      waves.push(wave);
      for (const pool of emptiedBy(wave, state)) emptied.add(pool);
      state = afterWave(state, wave.hosts);
    } else if (!recovered) {
      recovered = true;
      state = { ...state, down: without(state.down, fleet.recovering) };
    } else break;
  }
  const gone = waves.flatMap(({ hosts }) => hosts);
  return {
    maxUnavailable: shareText(limits.maxUnavailable),
    maxFailures: shareText(limits.maxFailures),
    proveFirst: fleet.unproven,
    waves,
    emptied: removes === true ? emptiedBy({ hosts: gone }, fleet) : [...emptied],
    held: [...fleet.barred, ...heldBack(state, limits)],
    ...defined({ removes }),
  };
}

function emptiedBy(
  { hosts }: Pick<Wave, 'hosts'>,
  { pools, down }: Pick<WaveState, 'pools' | 'down'>,
): readonly string[] {
  const taken = new Set(hosts);
  const lost = ([, all]: readonly [string, readonly string[]]) =>
    all.some((host) => taken.has(host) && !down.has(host)) &&
    all.every((host) => taken.has(host) || down.has(host));
  return [...pools].filter(lost).map(([pool]) => pool);
}

/** Returns the state after these hosts were changed and are healthy. Pure. */
export function afterWave(state: WaveState, healthy: readonly string[]): WaveState {
  const done = new Set(healthy);
  const kinds = state.pending.filter(({ host }) => done.has(host)).map(({ kind }) => kind);
  return {
    pools: state.pools,
    down: without(state.down, done),
    pending: state.pending.filter(({ host }) => !done.has(host)),
    proven: new Set([...state.proven, ...kinds]),
  };
}

function without(names: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].filter((name) => !others.has(name)));
}

/** A host that a run will drain. */
export interface Pending {
  readonly host: string;
  /** Hosts of one kind are alike: what works on one should work on the others. */
  readonly kind: string;
  /** The host that builds its image, which must not begin later. */
  readonly builder?: string;
  /** It builds an image for others. */
  readonly builds: boolean;
}

/** The state of a run between two waves. */
export interface WaveState {
  readonly pools: Pools;
  /** Hosts that take no jobs now. */
  readonly down: ReadonlySet<string>;
  /** Not begun yet, in the inventory's order. */
  readonly pending: readonly Pending[];
  /** Kinds of which one host was changed and is healthy. */
  readonly proven: ReadonlySet<string>;
}

/**
 * Returns the next wave: one host of each unproven kind, then as many hosts of proven kinds as their pools can be without. Hosts that
 * build an image come first. Undefined: no pending host can begin now. Pure.
 */
export function nextWave(state: WaveState, limits: WaveLimits): Wave | undefined {
  const { pending, proven } = state;
  const ordered = [...pending.filter(({ builds }) => builds), ...pending.filter(({ builds }) => !builds)];
  const first = ordered.filter(({ kind }) => !proven.has(kind));
  const canaries = select(first, state, limits, { onePerKind: true });
  if (canaries.length > 0) return { canary: true, hosts: canaries };
  const others = ordered.filter(({ kind }) => proven.has(kind));
  const hosts = select(others, state, limits, { onePerKind: false });
  return hosts.length > 0 ? { canary: false, hosts } : undefined;
}

function select(
  candidates: readonly Pending[],
  { pools, down, pending }: WaveState,
  limits: WaveLimits,
  { onePerKind }: { readonly onePerKind: boolean },
): readonly string[] {
  const capacity = new PoolCapacity(pools, down, limits);
  const waiting = new Set(pending.map(({ host }) => host));
  const kinds = new Set<string>();
  const chosen: string[] = [];
  for (const { host, kind, builder } of candidates) {
    if (onePerKind && kinds.has(kind)) continue;
    if (builder !== undefined && builder !== host && waiting.has(builder)) continue;
    if (capacity.fullFor(host) !== undefined) continue;
    capacity.take(host);
    kinds.add(kind);
    chosen.push(host);
    waiting.delete(host);
  }
  return chosen;
}

/** Returns why each pending host cannot begin. Pure. */
export function heldBack(state: WaveState, limits: WaveLimits): readonly Held[] {
  const capacity = new PoolCapacity(state.pools, state.down, limits);
  const down = (pool: string) => (state.pools.get(pool) ?? []).filter((each) => state.down.has(each));
  return state.pending.map(({ host, builder }) => {
    const pool = capacity.fullFor(host);
    if (pool === undefined) return heldByBuilder(host, builder);
    const hosts = state.pools.get(pool) ?? [];
    const [limit, out] = [mayBeDown(hosts.length, limits), down(pool)];
    return {
      host,
      what: `pool ${pool} can be without ${limit} of its ${hosts.length} hosts, and ${named(out)} already`,
      next: `bring ${out.length === 1 ? out[0] : 'them'} back, or allow more with --max-unavailable`,
    };
  });
}

/** Returns a host whose image builder was not begun. */
export function heldByBuilder(host: string, builder = 'another host'): Held {
  return {
    host,
    what: `${builder} builds its image and was not begun`,
    next: `check why ${builder} was not begun`,
  };
}

function named(hosts: readonly string[]): string {
  return `${namesInShort(hosts)} ${hosts.length === 1 ? 'takes' : 'take'} no jobs`;
}

/** Pool → all its hosts, also those outside the run. A host may be in several. */
export type Pools = ReadonlyMap<string, readonly string[]>;

/** The number of hosts that each pool can still be without. */
class PoolCapacity {
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

  /** Returns a pool that cannot be without this host now; undefined: none, or the host is down already. */
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

/**
 * Returns how many hosts of a pool may be unavailable at a time: at least one, because otherwise no change is possible, and not all
 * hosts of a larger pool, unless max_unavailable is 100%.
 */
export function mayBeDown(poolSize: number, { maxUnavailable }: WaveLimits): number {
  if (maxUnavailable.kind === 'percent' && maxUnavailable.percent === 100) return poolSize;
  return Math.max(1, Math.min(shareOf(maxUnavailable, poolSize), poolSize - 1));
}
