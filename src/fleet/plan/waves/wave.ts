import type { Wave } from '../waves-plan.ts';
import type { WaveLimits } from '../../inventory/fleet.ts';
import { PoolRoom, type Pools } from './pool-room.ts';

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
