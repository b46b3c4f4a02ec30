import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';

import { failure, type HostOutcome } from '../../../../src/fleet/apply/outcome.ts';
import { runWaves } from '../../../../src/fleet/apply/waves.ts';
import { defaultWaves } from '../../../../src/fleet/inventory/schema/defaults.ts';
import { mayBeDown, planWaves } from '../../../../src/fleet/plan/waves.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import type { Verdict } from '../../../../src/shared/health/verdict.ts';
import { fleetOf, type Machine, machines, many } from '../plan/wave-fleet-host.ts';
import { broken, healthy, run, share, well, type End } from './made-up-run.ts';

const waves = (machines: readonly Machine[]) =>
  planWaves(fleetOf(machines), defaultWaves)?.waves.map(({ hosts }) => [...hosts]);
const notBegun = (outcomes: readonly HostOutcome[]) =>
  outcomes.filter(({ problem }) => problem?.code === 'wave.stopped').map(({ host }) => host);

describe('100 hosts', () => {
  const fleet = [...many(60, 'hopper'), ...many(40, 'ada', { kind: 'l40s' })];

  it('are changed in the waves of the plan', async () => {
    const { outcomes, together } = await run(fleet);
    expect(together).toEqual(waves(fleet));
    expect(together.map((hosts) => hosts.length)).toEqual([2, 25, 25, 25, 23]);
    expect(outcomes.every(({ verdict }) => verdict?.state === 'healthy')).toBe(true);
    expect(outcomes.map(({ host }) => host)).toEqual(fleet.map(({ host }) => host));
  });

  it('are not begun after a canary fails', async () => {
    const { outcomes, begun } = await run(fleet, (host) => ({
      verdict: host === 'ada-00' ? broken : healthy,
    }));
    expect(begun).toEqual(['hopper-00', 'ada-00']);
    expect(notBegun(outcomes)).toHaveLength(98);
    expect(outcomes[1]).toEqual({
      host: 'hopper-01',
      state: 'skipped',
      changes: 0,
      problem: {
        code: 'wave.stopped',
        host: 'hopper-01',
        what: 'not begun because the canary ada-00 failed: nvidia-smi shows no GPU',
        next: 'fix ada-00, then run the same command again: it continues',
      },
    });
  });

  it('report once that all canaries passed, before any other host is begun', async () => {
    const calls: (readonly string[])[] = [];
    const canariesPassed = (begun: readonly string[]) => {
      calls.push(begun);
      return undefined;
    };
    const { outcomes } = await run(fleet, well, { canariesPassed });
    expect(calls).toEqual([['hopper-00', 'ada-00']]);
    expect(notBegun(outcomes)).toEqual([]);
  });

  it('are not begun where the report of the canaries has a problem, or where one failed', async () => {
    const problem = { code: 'upgrade.inventory', what: 'lab.yaml cannot be written' } as const;
    const { begun, outcomes } = await run(fleet, well, { canariesPassed: () => problem });
    expect(begun).toEqual(['hopper-00', 'ada-00']);
    expect(outcomes[1]?.problem?.what).toBe('not begun because lab.yaml cannot be written');
    const calls: unknown[] = [];
    await run(fleet, () => ({ verdict: broken }), { canariesPassed: () => void calls.push(1) });
    expect(calls).toEqual([]);
  });

  it('are not begun after the first failure in a later wave; the others of its wave finish', async () => {
    const { outcomes, begun } = await run(fleet, (host) => ({
      verdict: host === 'hopper-07' ? broken : healthy,
    }));
    expect(begun).toHaveLength(27);
    expect(outcomes.filter(({ verdict }) => verdict?.state === 'healthy')).toHaveLength(26);
    expect(outcomes.at(-1)?.problem?.what).toBe(
      'not begun because 1 host failed (hopper-07), and at most 0 may',
    );
  });

  it('continue until more than maxFailures fail, and failed hosts count against their pool', async () => {
    const fails = new Set(['hopper-03', 'hopper-09']);
    const { outcomes, together } = await run(
      fleet,
      (host) => ({ verdict: fails.has(host) ? broken : healthy }),
      { maxFailures: share('2%') },
    );
    expect(notBegun(outcomes)).toEqual([]);
    expect(together.map((hosts) => hosts.filter((host) => host.startsWith('hopper')).length)).toEqual([
      1, 15, 13, 13, 13, 5,
    ]);
  });

  it('count a degraded host as failed', async () => {
    const verdict: Verdict = { state: 'degraded', cause: 'one agent is missing', next: 'look' };
    const { outcomes } = await run(many(3, 'a'), () => ({ verdict }));
    expect(outcomes[2]?.problem?.what).toBe(
      'not begun because the canary a-0 failed: degraded: one agent is missing',
    );
  });

  it('count a degraded host as healthy if it had the same troubles before', async () => {
    const ecc = { code: 'gpu.ecc-uncorrected', on: 'GPU-1' } as const;
    const verdict: Verdict = { state: 'degraded', cause: '9 ECC errors', next: 'look', troubles: [ecc] };
    const continues = async (before: Verdict) =>
      (await run(many(3, 'a'), () => ({ verdict }), { before })).together.length === 3;
    const more = { code: 'gpu.pcie-width', on: 'GPU-1' } as const;
    const other = { ...ecc, on: 'GPU-2' };
    expect(await continues({ ...verdict, cause: '8 ECC errors' })).toBe(true);
    expect(await continues({ ...verdict, troubles: [more, ecc] })).toBe(true);
    expect(await continues({ ...verdict, troubles: [more] })).toBe(false);
    expect(await continues({ ...verdict, troubles: [other] })).toBe(false);
  });

  it('do not count unreachable or untouched hosts as failed: another is the canary', async () => {
    const gone = failure(
      'a-0',
      new FleetError({ code: 'ssh.refused', what: 'connection refused' }),
      silentLogger,
    );
    const jobs = failure(
      'a-1',
      new FleetError({ code: 'plan.drain-timeout', what: 'jobs run' }),
      silentLogger,
    );
    const { together, outcomes } = await run(many(12, 'a'), (host) => {
      if (host === 'a-00') return { ...gone, host };
      return host === 'a-01' ? { ...jobs, host } : { verdict: healthy };
    });
    // The unreachable host is one of the three that the pool may be without.
    expect(together.map((hosts) => hosts.length)).toEqual([1, 1, 1, 2, 2, 2, 2, 1]);
    expect(notBegun(outcomes)).toEqual([]);
  });

  it('count a failure after a change was begun', async () => {
    const error = new FleetError({ code: 'change.failed', what: 'no space left' });
    const { begun, outcomes } = await run(many(3, 'a'), (host) =>
      failure(host, error, silentLogger, { changes: 0, begun: 1 }),
    );
    expect(begun).toEqual(['a-0']);
    expect(outcomes[1]?.problem?.what).toBe('not begun because the canary a-0 failed: no space left');
  });
});

test('a refusal of the last of 50 hosts in a wave concerns that host only', async () => {
  const machines = many(51, 'hopper');
  const problem = {
    code: 'plan.refused',
    host: 'hopper-50',
    what: 'the driver is held',
    next: 'unhold it',
  } as const;
  const { outcomes, together } = await run(
    machines,
    (host) =>
      host === 'hopper-50' ? { state: 'failed', changes: 0, untouched: true, problem } : { verdict: healthy },
    { maxUnavailable: share('100%') },
  );
  expect(together.map((hosts) => hosts.length)).toEqual([1, 50]);
  expect(outcomes.filter(({ verdict }) => verdict?.state === 'healthy')).toHaveLength(50);
  expect(outcomes.at(-1)).toMatchObject({ host: 'hopper-50', state: 'failed', changes: 0, problem });
  expect(notBegun(outcomes)).toEqual([]);
});

describe('outside the waves', () => {
  const fresh = many(50, 'new', { part: 'idle' });

  it('all hosts that are not drained begin at once, also if the canary fails', async () => {
    const { together, outcomes } = await run([...many(3, 'a'), ...fresh], (host) => ({
      verdict: host === 'a-0' ? broken : healthy,
    }));
    expect(together[0]).toHaveLength(51);
    expect(outcomes.filter(({ verdict }) => verdict?.state === 'healthy')).toHaveLength(50);
  });

  it('at most --parallel hosts are changed at a time; canaries and builders come before others', async () => {
    const { together } = await run(
      [...fresh, { host: 'b', pools: [], part: 'idle', builder: 'b' }, ...many(3, 'a')],
      well,
      {
        parallel: 2,
      },
    );
    expect(together[0]).toEqual(['b', 'a-0']);
    expect(Math.max(...together.map((hosts) => hosts.length))).toBe(2);
  });

  it('hosts that an earlier run left drained are proven before the first wave', async () => {
    const left: Machine = { host: 'left', pools: ['a'], part: 'unproven', down: true };
    const { together } = await run([...many(3, 'a'), left]);
    expect(together).toEqual([['left'], ['a-0'], ['a-1'], ['a-2']]);
  });

  it('no wave begins if one of them is not healthy', async () => {
    const left: Machine = { host: 'left', pools: ['a'], part: 'unproven', down: true };
    const { begun, outcomes } = await run([...many(3, 'a'), left], () => ({ verdict: broken }));
    expect(begun).toEqual(['left']);
    expect(outcomes[0]?.problem?.what).toBe(
      'not begun because left, which an earlier run changed, is not healthy: nvidia-smi shows no GPU',
    );
  });

  it('a fixed host lets the last one of its pool begin', async () => {
    const off: Machine = { host: 'off', pools: ['a'], part: 'recovering', down: true };
    expect((await run([...many(1, 'a'), off])).together).toEqual([['off'], ['a-0']]);
    const { outcomes } = await run([...many(1, 'a'), off], () => ({ verdict: broken }));
    expect(outcomes[0]?.problem).toMatchObject({
      code: 'wave.held',
      what: 'not begun: pool a can be without 1 of its 2 hosts, and off takes no jobs already',
    });
  });

  it('a host that needs the image of a host in a later wave begins with it, or not at all', async () => {
    const fleet: Machine[] = [
      { host: 'first', pools: ['a'], kind: 'l40s', builder: 'first' },
      { host: 'builder', pools: ['a'], builder: 'builder' },
      { host: 'needs', pools: ['b'], part: 'idle', builder: 'builder' },
    ];
    expect((await run(fleet)).together).toEqual([['first'], ['builder', 'needs']]);
    const { begun, outcomes } = await run(fleet, () => ({ verdict: broken }));
    expect(begun).toEqual(['first']);
    expect(outcomes[2]?.state).toBe('skipped');
  });
});

it('after Ctrl-C no wave begins, and no host has a problem', async () => {
  const stop = new AbortController();
  const { begun, outcomes } = await run(
    many(3, 'a'),
    () => {
      stop.abort();
      return { state: 'skipped' };
    },
    { stop },
  );
  expect(begun).toEqual(['a-0']);
  expect(outcomes[2]).toEqual({ host: 'a-2', state: 'skipped', changes: 0 });
});

it('without a proof a wave is healthy if its changes were made', async () => {
  const { together } = await run(many(3, 'a'), () => ({}));
  expect(together).toEqual([['a-0'], ['a-1'], ['a-2']]);
});

it('a host that cannot be proven afterwards is not drained', async () => {
  const barred = { host: 'a-1', what: 'the pool may not be seen', next: 'ask its owner' };
  const fleet = { ...fleetOf([...many(1, 'a')]), barred: [barred] };
  const work = (host: string) => () =>
    Promise.resolve<HostOutcome>({ host, state: 'changed', changes: 1, verdict: healthy });
  const tasks = ['a-0', 'a-1'].map((host) => ({ host, builder: undefined, work: work(host) }));
  const tools = {
    emit: () => undefined,
    signal: new AbortController().signal,
    options: { parallel: 1, drainTimeoutMs: 0, breakLock: false },
  };
  expect(await runWaves(tasks, { fleet, limits: defaultWaves }, tools)).toMatchObject([
    { host: 'a-0', verdict: healthy },
    {
      host: 'a-1',
      state: 'skipped',
      problem: { code: 'wave.held', what: 'not begun: the pool may not be seen', next: 'ask its owner' },
    },
  ]);
});

it('in any fleet each host ends once, and no pool exceeds its limit', async () => {
  const ends = fc.array(fc.constantFrom('well', 'well', 'well', 'broken', 'gone'), { minLength: 40 });
  await fc.assert(
    fc.asyncProperty(machines, ends, async (all, fates) => {
      const fleet = all.map(({ builder: _builder, ...machine }) => machine);
      const fateOf = (host: string) => fates[fleet.findIndex((each) => each.host === host)] ?? 'well';
      const gone = new FleetError({ code: 'ssh.refused', what: 'connection refused' });
      const end: End = (host) => {
        if (fateOf(host) === 'gone') return { ...failure(host, gone, silentLogger) };
        return { verdict: fateOf(host) === 'well' ? healthy : broken };
      };
      const limits = { maxUnavailable: share('50%'), maxFailures: share('100%') };
      const { outcomes, together } = await run(fleet, end, limits);
      expect(outcomes.map(({ host }) => host)).toEqual(fleet.map(({ host }) => host));
      expect(new Set(together.flat()).size).toBe(together.flat().length);

      const { pools, down, pending } = fleetOf(fleet);
      const isPending = new Set(pending.map(({ host }) => host));
      const out = new Set(down);
      for (const batch of together) {
        const wave = batch.filter((host) => isPending.has(host));
        for (const members of pools.values()) {
          const lost = members.filter((host) => wave.includes(host) && !out.has(host));
          const without = members.filter((host) => out.has(host)).length + lost.length;
          const most = mayBeDown(members.length, { ...defaultWaves, ...limits });
          if (lost.length > 0) expect(without).toBeLessThanOrEqual(most);
        }
        for (const host of batch)
          if (fateOf(host) === 'well') out.delete(host);
          else if (isPending.has(host)) out.add(host);
      }
    }),
    { numRuns: 60 },
  );
});
