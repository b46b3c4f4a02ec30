import { parseHop } from '../../../shared/base/notation/hop.ts';
import { chainOf } from '../config/hops.ts';
import { hostOfHop, jumpTo } from '../config/hop-target.ts';
import type { JumpHost } from '../config/way.ts';
import type { Target } from '../transport.ts';
import { directive } from './spelling.ts';

/** The chosen ones and those of the inventory that they are reached through, in its order. */
export function withJumpHosts(chosen: readonly Target[], all: readonly Target[]): readonly Target[] {
  const wanted = new Set(chosen);
  for (const target of wanted)
    for (const text of hopsOf(target, all)) {
      const hop = parseHop(text);
      const found = hop && hostOfHop(hop, all);
      if (found !== undefined) wanted.add(found);
    }
  return all.filter((target) => wanted.has(target));
}

function hopsOf(target: Target, all: readonly Target[]): readonly string[] {
  try {
    return chainOf(jumpTo(target, all) ?? '', target.name);
  } catch {
    // What is no chain is told where the host is resolved.
    return [];
  }
}

/** What ssh would take for more than one name, or for none. */
const plainName = /^[A-Za-z0-9_][A-Za-z0-9._:-]*$/;

/**
 * Blocks for jump hosts that only `jump:` names and for which nobody names a key: as with us they are offered that of the
 * hosts behind them, beside the usual ones. Pure.
 */
export function hopBlocks(ways: readonly (readonly JumpHost[])[]): Record<string, string | string[]>[] {
  const keys = new Map<string, Set<string>>();
  for (const { options } of ways.flat()) {
    if (options.inInventory || options.identitiesNamed || !plainName.test(options.typed)) continue;
    const known = keys.get(options.typed) ?? new Set();
    for (const file of options.identityFiles) known.add(file);
    keys.set(options.typed, known);
  }
  return [...keys].flatMap(([host, files]) => {
    const [name, value] = directive(host, 'identityfile', [...files]) ?? [];
    return name === undefined || value === undefined ? [] : [{ Host: host, [name]: value }];
  });
}
