import { namesInShort } from '../../inventory/fold-names.ts';
import type { Held } from '../waves-plan.ts';
import type { WaveLimits } from '../../inventory/fleet.ts';
import { mayBeDown } from './limits.ts';
import { PoolRoom } from './pool-room.ts';
import type { Standing } from './wave.ts';

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
