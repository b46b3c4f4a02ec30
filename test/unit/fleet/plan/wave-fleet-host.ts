import fc from 'fast-check';

import type { Pending, WaveFleet } from '../../../../src/fleet/plan/waves.ts';

/** A host of a made-up fleet. */
export interface Machine {
  readonly host: string;
  readonly pools: readonly string[];
  /** Default: pending. */
  readonly part?: 'pending' | 'idle' | 'recovering' | 'unproven';
  readonly down?: boolean;
  readonly kind?: string;
  readonly builder?: string;
}

export function fleetOf(machines: readonly Machine[]): WaveFleet {
  const pools = new Map<string, string[]>();
  for (const { host, pools: names } of machines)
    for (const pool of names) pools.set(pool, [...(pools.get(pool) ?? []), host]);
  const named = (part: Machine['part']) =>
    machines.filter((machine) => machine.part === part).map(({ host }) => host);
  return {
    pools,
    down: new Set(machines.filter(({ down }) => down === true).map(({ host }) => host)),
    pending: machines.filter(({ part = 'pending' }) => part === 'pending').map(pendingOf),
    recovering: new Set(named('recovering')),
    unproven: named('unproven'),
    barred: [],
  };
}

function pendingOf({ host, kind = 'h200', builder }: Machine): Pending {
  return {
    host,
    kind,
    builds: builder === host,
    ...(builder === undefined ? {} : { builder }),
  };
}

/** Returns `count` hosts of one pool. */
export function many(count: number, pool: string, rest: Partial<Machine> = {}): Machine[] {
  const width = String(count - 1).length;
  return Array.from({ length: count }, (_, index) => ({
    host: `${pool}-${String(index).padStart(width, '0')}`,
    pools: [pool],
    ...rest,
  }));
}

/** Any fleet of up to 40 hosts in up to 4 pools. */
export const machines = fc.uniqueArray(
  fc.record(
    {
      host: fc.stringMatching(/^h\d{1,2}$/),
      pools: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 }),
      part: fc.constantFrom('pending', 'pending', 'pending', 'idle'),
      down: fc.boolean(),
      kind: fc.constantFrom('h200', 'l40s', 'a100'),
      builder: fc.constantFrom(undefined, 'h1', 'h2'),
    },
    { requiredKeys: ['host', 'pools', 'part', 'kind'] },
  ),
  { selector: ({ host }) => host, maxLength: 40 },
) as fc.Arbitrary<readonly Machine[]>;
