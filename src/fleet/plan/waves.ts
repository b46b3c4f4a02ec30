import type { WaveLimits } from '../inventory/fleet.ts';
import { namesInShort } from '../inventory/fold-names.ts';
import type { Held, Wave, WavesPlan } from './fleet-plan.ts';
import { defined } from '../../shared/base/objects.ts';
import { shareOf, shareText } from '../../shared/base/quantities.ts';

/** What waves are made of: the fleet before a run. */
export interface WaveFleet extends Omit<Standing, 'proven'> {
  /** Down, and about to be mended by this run beside the waves. */
  readonly mending: ReadonlySet<string>;
  /** Drained by a run that was cut off before it had proven them, and nothing is left that disturbs their agents. */
  readonly unproven: readonly string[];
  /** Would be pending, but cannot be proven afterwards. */
  readonly barred: readonly Held[];
}

/**
 * The waves of a run in which all goes well. Undefined: nothing takes agents away. `removes`: the hosts leave the fleet.
 * Pure.
 */
export function planWaves(fleet: WaveFleet, limits: WaveLimits, removes?: true): WavesPlan | undefined {
  if (fleet.pending.length === 0 && fleet.barred.length === 0) return undefined;
  const waves: Wave[] = [];
  const unproven = new Set(fleet.unproven);
  let standing: Standing = { ...fleet, down: without(fleet.down, unproven), proven: new Set() };
  let mended = false;
  const emptied = new Set<string>();
  for (;;) {
    const wave = nextWave(standing, limits);
    if (wave !== undefined) {
      waves.push(wave);
      for (const pool of emptiedBy(wave, standing)) emptied.add(pool);
      standing = afterWave(standing, wave.hosts);
    } else if (!mended) {
      mended = true;
      standing = { ...standing, down: without(standing.down, fleet.mending) };
    } else break;
  }
  const gone = waves.flatMap(({ hosts }) => hosts);
  return {
    maxUnavailable: shareText(limits.maxUnavailable),
    maxFailures: shareText(limits.maxFailures),
    proveFirst: fleet.unproven,
    waves,
    emptied: removes === true ? emptiedBy({ hosts: gone }, fleet) : [...emptied],
    held: [...fleet.barred, ...heldBack(standing, limits)],
    ...defined({ removes }),
  };
}

function emptiedBy(
  { hosts }: Pick<Wave, 'hosts'>,
  { pools, down }: Pick<Standing, 'pools' | 'down'>,
): readonly string[] {
  const taken = new Set(hosts);
  const lost = ([, all]: readonly [string, readonly string[]]) =>
    all.some((host) => taken.has(host) && !down.has(host)) &&
    all.every((host) => taken.has(host) || down.has(host));
  return [...pools].filter(lost).map(([pool]) => pool);
}

/** When these hosts are changed and healthy. Pure. */
export function afterWave(standing: Standing, healthy: readonly string[]): Standing {
  const done = new Set(healthy);
  const kinds = standing.pending.filter(({ host }) => done.has(host)).map(({ kind }) => kind);
  return {
    pools: standing.pools,
    down: without(standing.down, done),
    pending: standing.pending.filter(({ host }) => !done.has(host)),
    proven: new Set([...standing.proven, ...kinds]),
  };
}

function without(names: ReadonlySet<string>, others: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].filter((name) => !others.has(name)));
}

/** A host whose agents a run takes away for a time. */
export interface Pending {
  readonly host: string;
  /** Hosts of one kind are alike: what one of them survives, the others may be expected to. */
  readonly kind: string;
  /** Who builds its image, where another host does: that one is begun no later. */
  readonly builder?: string;
  /** It builds an image for others. */
  readonly builds: boolean;
}

/** Where a run stands between two waves. */
export interface Standing {
  readonly pools: Pools;
  /** Hosts that take no jobs now. */
  readonly down: ReadonlySet<string>;
  /** Not begun yet, in the inventory's order. */
  readonly pending: readonly Pending[];
  /** Kinds of which one host was changed and is healthy. */
  readonly proven: ReadonlySet<string>;
}

/**
 * Who comes next: one host of each kind that is not proven, and where all are, as many hosts as their pools can be
 * without; hosts that build an image before others. Undefined: no host that is left can go now. Pure.
 */
export function nextWave(standing: Standing, limits: WaveLimits): Wave | undefined {
  const { pending, proven } = standing;
  const ordered = [...pending.filter(({ builds }) => builds), ...pending.filter(({ builds }) => !builds)];
  const first = ordered.filter(({ kind }) => !proven.has(kind));
  const canaries = select(first, standing, limits, { onePerKind: true });
  if (canaries.length > 0) return { canary: true, hosts: canaries };
  const others = ordered.filter(({ kind }) => proven.has(kind));
  const hosts = select(others, standing, limits, { onePerKind: false });
  return hosts.length > 0 ? { canary: false, hosts } : undefined;
}

function select(
  candidates: readonly Pending[],
  { pools, down, pending }: Standing,
  limits: WaveLimits,
  { onePerKind }: { readonly onePerKind: boolean },
): readonly string[] {
  const room = new PoolRoom(pools, down, limits);
  const waiting = new Set(pending.map(({ host }) => host));
  const kinds = new Set<string>();
  const chosen: string[] = [];
  for (const { host, kind, builder } of candidates) {
    if (onePerKind && kinds.has(kind)) continue;
    if (builder !== undefined && builder !== host && waiting.has(builder)) continue;
    if (room.fullFor(host) !== undefined) continue;
    room.take(host);
    kinds.add(kind);
    chosen.push(host);
    waiting.delete(host);
  }
  return chosen;
}

/** What keeps each host that is left from being begun. Pure. */
export function heldBack(standing: Standing, limits: WaveLimits): readonly Held[] {
  const room = new PoolRoom(standing.pools, standing.down, limits);
  const down = (pool: string) => (standing.pools.get(pool) ?? []).filter((each) => standing.down.has(each));
  return standing.pending.map(({ host, builder }) => {
    const pool = room.fullFor(host);
    if (pool === undefined) return heldByBuilder(host, builder);
    const hosts = standing.pools.get(pool) ?? [];
    const [limit, out] = [mayBeDown(hosts.length, limits), down(pool)];
    return {
      host,
      what: `pool ${pool} can be without ${limit} of its ${hosts.length} hosts, and ${named(out)} already`,
      next: `bring ${out.length === 1 ? out[0] : 'them'} back, or allow more with --max-unavailable`,
    };
  });
}

/** Its image is built by one that is not begun. */
export function heldByBuilder(host: string, builder = 'another host'): Held {
  return {
    host,
    what: `${builder} builds its image and was not begun`,
    next: `see what keeps ${builder} from being begun`,
  };
}

function named(hosts: readonly string[]): string {
  return `${namesInShort(hosts)} ${hosts.length === 1 ? 'takes' : 'take'} no jobs`;
}

/** Pool → all its hosts, those among them that a run does not touch. A host may be in several. */
export type Pools = ReadonlyMap<string, readonly string[]>;

/** How many more hosts each pool can be without. */
class PoolRoom {
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

/**
 * How many hosts of a pool may be out of work at a time: one at least, else no change ever comes about, and never all of
 * several, unless 100% was asked for by that name.
 */
export function mayBeDown(poolSize: number, { maxUnavailable }: WaveLimits): number {
  if (maxUnavailable.kind === 'percent' && maxUnavailable.percent === 100) return poolSize;
  return Math.max(1, Math.min(shareOf(maxUnavailable, poolSize), poolSize - 1));
}
