import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { WaveLimits } from '../../../../src/fleet/inventory/fleet.ts';
import { defaultWaves } from '../../../../src/fleet/inventory/schema/defaults.ts';
import { mayBeDown, planWaves } from '../../../../src/fleet/plan/waves.ts';
import { parseShare } from '../../../../src/shared/base/quantities.ts';
import { fleetOf, type Machine, machines, many } from './wave-fleet-host.ts';

function limits(maxUnavailable: string): WaveLimits {
  const share = parseShare(maxUnavailable);
  return share === undefined ? defaultWaves : { ...defaultWaves, maxUnavailable: share };
}

/** Formats waves as `1! a; 2 b c`: an exclamation mark for canaries; `-d` is held back. */
function waveLine(machines: readonly Machine[], maxUnavailable = '25%'): string {
  const plan = planWaves(fleetOf(machines), limits(maxUnavailable));
  if (plan === undefined) return 'none';
  return [
    ...plan.waves.map(({ canary, hosts }, at) => `${at + 1}${canary ? '!' : ''} ${hosts.join(' ')}`),
    ...plan.held.map(({ host }) => `-${host}`),
  ].join('; ');
}

it.each<[number, string, number]>([
  [1, '25%', 1],
  [2, '25%', 1],
  [3, '25%', 1],
  [8, '25%', 2],
  [100, '25%', 25],
  [3, '5', 2],
  [3, '99%', 2],
  [2, '1', 1],
  [2, '100%', 2],
  [1, '100%', 1],
])('of a pool of %i hosts with %s, %i may be unavailable', (size, share, most) => {
  expect(mayBeDown(size, limits(share))).toBe(most);
});

describe('waves', () => {
  it.each<[string, readonly Machine[], string, string]>([
    ['nothing disturbed', many(3, 'a', { part: 'idle' }), '25%', 'none'],
    ['a pool of one host', many(1, 'a'), '25%', '1! a-0'],
    ['one at a time in a small pool', many(3, 'a'), '25%', '1! a-0; 2 a-1; 3 a-2'],
    [
      'a quarter of a large one after the canary',
      many(8, 'a'),
      '25%',
      '1! a-0; 2 a-1 a-2; 3 a-3 a-4; 4 a-5 a-6; 5 a-7',
    ],
    ['all but one host, with any limit below 100 %', many(4, 'a'), '9', '1! a-0; 2 a-1 a-2 a-3'],
    ['all at once after the canary, with 100 %', many(3, 'a'), '100%', '1! a-0; 2 a-1 a-2'],
    [
      'several pools at once; one canary for hosts of one kind',
      [...many(2, 'a'), ...many(2, 'b')],
      '25%',
      '1! a-0; 2 a-1 b-0; 3 b-1',
    ],
    [
      'one canary of each kind',
      [...many(2, 'a'), ...many(2, 'b', { kind: 'l40s' })],
      '25%',
      '1! a-0 b-0; 2 a-1 b-1',
    ],
    [
      'canaries of one pool one after another',
      [...many(2, 'a'), { host: 'l', pools: ['a'], kind: 'l40s' }],
      '25%',
      '1! a-0; 2! l; 3 a-1',
    ],
    [
      'a host in two pools counts in both',
      [...many(2, 'a'), { host: 'x', pools: ['a', 'b'] }, { host: 'b-0', pools: ['b'] }],
      '25%',
      '1! a-0; 2 a-1 b-0; 3 x',
    ],
    [
      'a builder comes before hosts that need its image',
      [
        { host: 'a-0', pools: ['a'], builder: 'a-2' },
        { host: 'a-1', pools: ['a'], builder: 'a-2' },
        { host: 'a-2', pools: ['a'], builder: 'a-2' },
      ],
      '25%',
      '1! a-2; 2 a-0; 3 a-1',
    ],
    [
      'a host that is down counts against the limit',
      [...many(8, 'a'), { host: 'dead', pools: ['a'], part: 'idle', down: true }],
      '25%',
      '1! a-0; 2 a-1; 3 a-2; 4 a-3; 5 a-4; 6 a-5; 7 a-6; 8 a-7',
    ],
    [
      'and does not count when it is changed itself',
      [
        { host: 'a-0', pools: ['a'], down: true },
        { host: 'a-1', pools: ['a'] },
      ],
      '25%',
      '1! a-0; 2 a-1',
    ],
    [
      'the last available host is held back while the other is down',
      [
        { host: 'a-0', pools: ['a'] },
        { host: 'dead', pools: ['a'], part: 'idle', down: true },
      ],
      '25%',
      '-a-0',
    ],
    [
      'unless the same run fixes the other',
      [
        { host: 'a-0', pools: ['a'] },
        { host: 'off', pools: ['a'], part: 'recovering', down: true },
      ],
      '25%',
      '1! a-0',
    ],
    [
      'or the other was only left drained, and is proven first',
      [
        { host: 'a-0', pools: ['a'] },
        { host: 'left', pools: ['a'], part: 'unproven', down: true },
      ],
      '25%',
      '1! a-0',
    ],
  ])('%s', (_, machines, share, expected) => {
    expect(waveLine(machines, share)).toBe(expected);
  });

  it('have the reason and the next action of a host that is held back', () => {
    const fleet = fleetOf([
      ...many(1, 'gpu-lab'),
      { host: 'dead', pools: ['gpu-lab'], part: 'idle', down: true },
    ]);
    expect(planWaves(fleet, defaultWaves)?.held).toEqual([
      {
        host: 'gpu-lab-0',
        what: 'pool gpu-lab can be without 1 of its 2 hosts, and dead takes no jobs already',
        next: 'bring dead back, or allow more with --max-unavailable',
      },
    ]);
  });

  it('name the pools without agents during the run', () => {
    expect(planWaves(fleetOf([...many(1, 'solo'), ...many(3, 'a')]), defaultWaves)?.emptied).toEqual([
      'solo',
    ]);
    expect(planWaves(fleetOf(many(3, 'a')), limits('100%'))?.emptied).toEqual([]);
    expect(planWaves(fleetOf(many(3, 'a')), limits('2'))?.emptied).toEqual([]);
  });

  it('name the pools without agents after hosts leave the fleet', () => {
    const lasting: Machine = { host: 'stays', pools: ['a'], part: 'idle', down: false };
    const dead: Machine = { host: 'dead', pools: ['b'], part: 'idle', down: true };
    const emptied = (machines: readonly Machine[]) =>
      planWaves(fleetOf(machines), limits('100%'), true)?.emptied;
    expect(emptied(many(3, 'a'))).toEqual(['a']);
    expect(emptied([...many(3, 'a'), lasting])).toEqual([]);
    expect(emptied([...many(1, 'b'), dead])).toEqual(['b']);
  });
});

const shares = fc.constantFrom('1', '2', '5', '10%', '25%', '50%', '99%');

describe('in any fleet', () => {
  const wavesOf = (fleet: readonly Machine[], share: string) => planWaves(fleetOf(fleet), limits(share));

  it('every disturbed host is in one wave or held back', () => {
    fc.assert(
      fc.property(machines, shares, (all, share) => {
        const plan = wavesOf(all, share);
        const placed = [
          ...(plan?.waves.flatMap(({ hosts }) => hosts) ?? []),
          ...(plan?.held.map(({ host }) => host) ?? []),
        ];
        const pending = all.filter(({ part }) => part === 'pending').map(({ host }) => host);
        expect(placed.toSorted()).toEqual(pending.toSorted());
      }),
    );
  });

  it('no wave exceeds the limit of a pool, or takes all hosts of a larger pool', () => {
    fc.assert(
      fc.property(machines, shares, (all, share) => {
        const { pools, down: downAtFirst } = fleetOf(all);
        const down = new Set(downAtFirst);
        for (const { hosts } of wavesOf(all, share)?.waves ?? []) {
          for (const [, members] of pools) {
            const lost = hosts.filter((host) => members.includes(host) && !down.has(host));
            if (lost.length === 0) continue;
            const without = new Set([...members.filter((host) => down.has(host)), ...lost]);
            expect(without.size).toBeLessThanOrEqual(mayBeDown(members.length, limits(share)));
            if (members.length > 1) expect(without.size).toBeLessThan(members.length);
          }
          for (const host of hosts) down.delete(host);
        }
      }),
    );
  });

  it('a canary is the only host of its kind in its wave, and the first', () => {
    fc.assert(
      fc.property(machines, shares, (all, share) => {
        const kinds = new Map(fleetOf(all).pending.map(({ host, kind }) => [host, kind]));
        const proven = new Set<string | undefined>();
        for (const { canary, hosts } of wavesOf(all, share)?.waves ?? []) {
          const now = hosts.map((host) => kinds.get(host));
          expect(now.every((kind) => proven.has(kind) !== canary)).toBe(true);
          if (canary) expect(new Set(now).size).toBe(now.length);
          for (const kind of now) proven.add(kind);
        }
      }),
    );
  });

  it('no host comes before the builder of its image', () => {
    fc.assert(
      fc.property(machines, shares, (all, share) => {
        const at = new Map(
          (wavesOf(all, share)?.waves ?? []).flatMap(({ hosts }, index) =>
            hosts.map((host) => [host, index]),
          ),
        );
        for (const { host, builder } of fleetOf(all).pending)
          if (
            builder !== undefined &&
            at.has(host) &&
            all.some((each) => each.host === builder && each.part === 'pending')
          )
            expect(at.get(builder) ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(at.get(host) ?? 0);
      }),
    );
  });

  it('no host is held back if none is down and none needs an image', () => {
    fc.assert(
      fc.property(machines, shares, (all, share) => {
        const up = all.map(({ host, pools, part, kind }) => ({ host, pools, part, kind }) as Machine);
        expect(wavesOf(up, share)?.held ?? []).toEqual([]);
      }),
    );
  });
});
